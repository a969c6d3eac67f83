/** Defects and variants of agents, which show only in a run with platform and device. */
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
    ['system.offline', 'system.ping'],
    { subscribesOnce: true },
    { tells: /no such event; on the platform: status queued/ },
  ),
  defect('requests-ignored', 'Syncs when it connects, and never when it is asked to.', ['system.deploy'], {
    heedsRequests: false,
  }),
  defect('pings-unanswered', 'Leaves pings without an answer.', ['system.ping'], { answersPings: false }),
  defect(
    'reports-never',
    'Does what it is told, and reports nothing of it.',
    ['system.deploy', 'system.failed', 'system.newer'],
    { reports: () => undefined },
  ),
  defect('failure-as-success', 'Reports a deployment that has failed as deployed.', ['system.failed'], {
    reports: ({ archived_at: at, ...report }) =>
      report.error_status === 'failed'
        ? { activity_status: 'deployed', error_status: 'none', ...(at === undefined ? {} : { deployed_at: at }) }
        : { ...report, ...(at === undefined ? {} : { archived_at: at }) },
  }),
].map((each) => ({ ...each, ...FILE }));
