/** Waits for something on a stream: as long as it comes nearer, and no longer than the stream lasts. */
import { type Changes, Patience, socketsRead } from '../common/waiting.ts';

/** How long to wait, and for what. */
export interface StreamWait {
  /**
   * Milliseconds without progress: bytes that bring nearer what is waited for. Comments and empty lines bring no frame
   * nearer. Time in which this process is held up does not count.
   */
  within: number;
  /**
   * Milliseconds in all, whatever comes: for samples, and for what must not come. Default: no bound but that of the
   * check.
   */
  atMost?: number;
  /** In words that complete "waited for …". */
  for: string;
}

/** What was waited for did not come in time. */
export class StreamTimeout extends Error {
  override name = 'StreamTimeout';
}

/** The stream ended before what was waited for came. */
export class StreamEnded extends Error {
  override name = 'StreamEnded';
}

/** The stream as a wait sees it. */
interface Awaited {
  /** Grows as what is waited for comes nearer. */
  progress(): number;
  /** Announced whenever something has come, or the stream has ended. */
  changes: Changes;
  /** Why nothing more comes; undefined while the stream is open. */
  ended(): string | undefined;
  /** The message of the error. */
  describe(reason: string): string;
}

/** Resolves with what `ready` gives as soon as that is something. Throws StreamEnded or StreamTimeout. */
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
      // The bytes may have come and wait behind the timer.
      late = true;
      await socketsRead();
    } else {
      const waited = patience.bound === 'silent' ? wait.within : (wait.atMost ?? 0);
      throw new StreamTimeout(stream.describe(`nothing of the kind within ${Math.round(waited)} ms`));
    }
  }
}
