/** Agents that differ from the reference: legal variants, and defects that only a run of both sides shows. */
import type { AgentHabits } from '../device/uplink/index.ts';
import { changed, declaring, effectsOf } from './define.ts';

const { variant, defect } = declaring<AgentHabits, AgentHabits>('agent', { changed, effectsOf });
const FILE = { file: 'simulators/defects/agents.ts' };

export const agentVariants = [
  variant('retries-for-ever', 'Takes no error for a fatal one, and tries again.', { retriesForEver: true }),
  variant('subscribes-late', 'Hears nothing in the 4 s after it has connected.', { subscribesAfterMs: 4000 }),
  variant('polls', 'Asks for its deployments every second, and ignores requests to sync.', { pollsEveryMs: 1000 }),
  variant('pings-slowly', 'Answers a ping after 3 s.', { answersPingsAfterMs: 3000 }),
].map((each) => ({ ...each, ...FILE }));

export const agentDefects = [
  defect(
    'deaf-after-reconnect',
    'Does not subscribe again after its connection was lost.',
    ['system.offline', 'system.ping', 'system.soak'],
    { subscribesOnce: true },
    { tells: /no such event; on the platform: status queued/ },
  ),
].map((each) => ({ ...each, ...FILE }));
