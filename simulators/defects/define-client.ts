/** How defects and variants of the client are declared. */
import type {
  CallBehaviour,
  ClientBehaviour,
  FollowBehaviour,
  JobBehaviour,
  PlainJob,
  StreamBehaviour,
} from '../client/behaviour.ts';
import { type Change, changed, type Defect, effectsOf, type Variant, type VariantExtras } from './define.ts';

/** Decisions that differ, by group. A change of `stream` is made anew for each connection. */
export interface ClientChanges {
  readonly stream?: Change<StreamBehaviour>;
  readonly follow?: Change<FollowBehaviour>;
  readonly calls?: Change<CallBehaviour>;
  readonly jobs?: Readonly<Partial<Record<PlainJob, Change<JobBehaviour>>>>;
}

const jobsIn = ({ jobs }: ClientBehaviour) => Object.entries(jobs) as [PlainJob, JobBehaviour][];

/** A function is called for each client, so that the changes may keep state. */
export type ClientChange = ClientChanges | (() => ClientChanges);

export function variant(
  name: string,
  summary: string,
  change: ClientChange,
  extras: VariantExtras = {},
): Variant<ClientBehaviour> {
  const changes = (): ClientChanges => (typeof change === 'function' ? change() : change);
  return {
    ...extras,
    name,
    side: 'client',
    summary,
    behaviour: (reference) => {
      const { stream, follow, calls, jobs = {} } = changes();
      return {
        stream: stream === undefined ? reference.stream : () => changed(reference.stream(), stream),
        follow: changed(reference.follow, follow),
        calls: changed(reference.calls, calls),
        jobs: {
          ...reference.jobs,
          ...Object.fromEntries(jobsIn(reference).map(([job, behaviour]) => [job, changed(behaviour, jobs[job])])),
        },
      };
    },
    effects: (reference) => {
      const { stream, follow, calls, jobs = {} } = changes();
      return new Map([
        ...effectsOf(reference.stream(), stream, 'stream.'),
        ...effectsOf(reference.follow, follow, 'follow.'),
        ...effectsOf(reference.calls, calls, 'calls.'),
        ...jobsIn(reference).flatMap(([job, behaviour]) => [...effectsOf(behaviour, jobs[job], `${job}.`)]),
      ]);
    },
  };
}

/** `breaks`: ids of requirements or of single checks, the most telling one first. */
export function defect(
  name: string,
  summary: string,
  breaks: readonly string[],
  change: ClientChange,
): Defect<ClientBehaviour> {
  return { ...variant(name, summary, change), breaks };
}
