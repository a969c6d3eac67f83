import { DEPLOYMENT_STATUSES } from '../../harness/contract/enums.ts';
import type { ClientBehaviour, JobBehaviour, PlainJob, StreamBehaviour } from '../client/behaviour.ts';
import { type Change, changed, declaring, effectsOf } from './define.ts';

/** `stream` changes apply separately to each connection. */
interface ClientChanges {
  readonly stream?: Change<StreamBehaviour>;
  readonly follow?: Change<ClientBehaviour['follow']>;
  readonly calls?: Change<ClientBehaviour['calls']>;
  readonly jobs?: Readonly<Partial<Record<PlainJob, Change<JobBehaviour>>>>;
}

const jobsIn = ({ jobs }: ClientBehaviour) => Object.entries(jobs) as [PlainJob, JobBehaviour][];

/** A function runs once per client, so that its changes may keep state. */
type ClientChange = ClientChanges | (() => ClientChanges);

const madeOf = (change: ClientChange): ClientChanges => (typeof change === 'function' ? change() : change);

export const { variant, defect } = declaring<ClientBehaviour, ClientChange>('client', {
  changed: (reference, change) => {
    const { stream, follow, calls, jobs = {} } = madeOf(change);
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
  effectsOf: (reference, change) => {
    const { stream, follow, calls, jobs = {} } = madeOf(change);
    return new Map([
      ...effectsOf(reference.stream(), stream, 'stream.'),
      ...effectsOf(reference.follow, follow, 'follow.'),
      ...effectsOf(reference.calls, calls, 'calls.'),
      ...jobsIn(reference).flatMap(([job, behaviour]) => [...effectsOf(behaviour, jobs[job], `${job}.`)]),
    ]);
  },
});

export const isDeploymentStatus = (value: unknown): boolean => DEPLOYMENT_STATUSES.some((status) => status === value);
