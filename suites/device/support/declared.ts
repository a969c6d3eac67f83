/** Compares the declarations of a device and its control with what the checks observe. */
import type { ControlCompacted, ControlPublished } from '../../../harness/contract/control.ts';
import { retentionSeen } from '../../../harness/runner/declarations.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { type Control, type ControlCall, ControlRefused } from '../../../harness/targets/control/control.ts';
import { CAPABILITY_FOR, layered } from '../../../harness/targets/control/layers.ts';
import type { Device } from './check.ts';

const PUBLISHED = new Fact<{ first: bigint; count: number }[]>(() => []);

export function watchedControl(control: Control, { session, info }: Pick<Device, 'session' | 'info'>): Control {
  const { declarations } = session;
  const answered = (call: ControlCall, answer: unknown): void => {
    declarations.worked(CAPABILITY_FOR[call.name]);
    if (call.name === 'publish') {
      const { first_id } = answer as ControlPublished;
      session.get(PUBLISHED).push({ first: BigInt(first_id), count: call.count });
    }
    if (call.name !== 'compact') return;
    const earliest = BigInt((answer as ControlCompacted).earliest_id);
    // Counts a batch as removed once compaction has removed its first event.
    const left = session.get(PUBLISHED).filter(({ first }) => first >= earliest);
    session.set(PUBLISHED, left);
    const kept = left.reduce((sum, { count }) => sum + count, 0);
    if (info.retention !== undefined) declarations.saw(retentionSeen(info.retention, kept));
  };
  return layered(control, {
    call: async (call, signal) => {
      try {
        const answer = await control.call(call, signal);
        answered(call, answer);
        return answer;
      } catch (error) {
        if (error instanceof ControlRefused && isPlain(call))
          declarations.refused(CAPABILITY_FOR[call.name], error.message);
        throw error;
      }
    },
  });
}

/** True for a call that control must not refuse; control may refuse removals and deployments with special values. */
const isPlain = (call: ControlCall): boolean =>
  call.name !== 'remove' && (call.name !== 'deploy' || Object.keys(call.request).length === 0);
