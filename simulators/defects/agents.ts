/** Agents that differ from the reference: legal variants, and defects that only a run of both sides shows. */
import type { AgentHabits } from '../device/uplink/index.ts';

export interface AgentVariant {
  name: string;
  summary: string;
  habits: AgentHabits;
}
export interface AgentDefect extends AgentVariant {
  /** Ids of requirements, the most telling one first. */
  breaks: readonly string[];
}

export const agentVariants: readonly AgentVariant[] = [
  {
    name: 'retries-for-ever',
    summary: 'Takes no error for a fatal one, and tries again.',
    habits: { retriesForEver: true },
  },
  {
    name: 'subscribes-late',
    summary: 'Hears nothing in the 4 s after it has connected.',
    habits: { subscribesAfterMs: 4000 },
  },
  {
    name: 'polls',
    summary: 'Asks for its deployments every second, and ignores requests to sync.',
    habits: { pollsEveryMs: 1000 },
  },
  { name: 'pings-slowly', summary: 'Answers a ping after 3 s.', habits: { answersPingsAfterMs: 3000 } },
];

export const agentDefects: readonly AgentDefect[] = [
  {
    name: 'deaf-after-reconnect',
    summary: 'Does not subscribe again after its connection was lost.',
    breaks: ['system.offline', 'system.ping', 'system.soak'],
    habits: { subscribesOnce: true },
  },
];
