/** Waits on a stream while the stream is open and makes progress. */
import { type Changes, Patience, socketsRead } from '../common/waiting.ts';

export interface StreamWait {
  /** Milliseconds without progress; pauses of this process do not count. Comments are no progress towards a frame. */
  within: number;
  /** Maximum number of milliseconds in total. Default: the check's time limit. */
  atMost?: number;
  /** Text that completes "waited for …". */
  for: string;
}

export class StreamTimeout extends Error {
  override name = 'StreamTimeout';
}

export class StreamEnded extends Error {
  override name = 'StreamEnded';
}

interface Awaited {
  progress(): number;
  changes: Changes;
  ended(): string | undefined;
  describe(reason: string): string;
}

export async function untilReady<T>(ready: () => T | undefined, wait: StreamWait, stream: Awaited): Promise<T> {
  const patience = new Patience(wait.within, wait.atMost);
  for (let seen = stream.progress(), late = false; ; ) {
    const found = ready();
    if (found !== undefined) return found;
    const ended = stream.ended();
    if (ended !== undefined) throw new StreamEnded(stream.describe(ended));
    if (stream.progress() > seen) patience.renew();
    seen = stream.progress();
    if (patience.leftMs > 0) {
      late = false;
      await stream.changes.next(patience.leftMs);
    } else if (!late) {
      // Reads sockets once more, because received bytes may wait behind the timer.
      late = true;
      await socketsRead();
    } else {
      const waited = patience.bound === 'silent' ? wait.within : (wait.atMost ?? 0);
      throw new StreamTimeout(stream.describe(`nothing of the kind within ${Math.round(waited)} ms`));
    }
  }
}
