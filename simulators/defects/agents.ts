/** Agents that differ from the reference: legal variants, and defects that only a run of both sides shows. */
import type { AgentHabits } from '../device/uplink/index.ts';
import type { Located } from './catalogue.ts';
import { changed, type Defect, effectsOf, type Variant } from './define.ts';

const variant = (name: string, summary: string, habits: AgentHabits): Located<Variant<AgentHabits>> => ({
  ...{ name, side: 'agent', summary, file: 'simulators/defects/agents.ts' },
  behaviour: (reference) => changed(reference, habits),
  effects: (reference) => effectsOf(reference, habits),
});

export const agentVariants: readonly Located<Variant<AgentHabits>>[] = [
  variant('retries-for-ever', 'Takes no error for a fatal one, and tries again.', { retriesForEver: true }),
  variant('subscribes-late', 'Hears nothing in the 4 s after it has connected.', { subscribesAfterMs: 4000 }),
  variant('polls', 'Asks for its deployments every second, and ignores requests to sync.', { pollsEveryMs: 1000 }),
  variant('pings-slowly', 'Answers a ping after 3 s.', { answersPingsAfterMs: 3000 }),
];

const DEAF = 'Does not subscribe again after its connection was lost.';

export const agentDefects: readonly Located<Defect<AgentHabits>>[] = [
  {
    ...variant('deaf-after-reconnect', DEAF, { subscribesOnce: true }),
    breaks: ['system.offline', 'system.ping', 'system.soak'],
    tells: /no such event; on the platform: status queued/,
  },
];
