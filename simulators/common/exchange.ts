/** One request and its answer over undici, with the moment at which the request was on its way. */
import type { Dispatcher } from 'undici';

/** What carries requests. */
export interface Sender {
  /** `patient`: the request is one of many that are asked for all at once, and may wait for its turn. */
  send(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler, patient?: boolean): void;
  /** Cuts every connection; requests under way fail. */
  destroy(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Uint8Array;
}

export interface ExchangeOptions extends Dispatcher.DispatchOptions {
  signal?: AbortSignal | undefined;
  /** Called when the first byte of the request is handed to the socket. Not called when that never happens. */
  onSent?: (() => void) | undefined;
  patient?: boolean | undefined;
}

/** Resolves with the whole answer. Rejects with undici's error, or with the reason of the signal. */
export function exchange(sender: Sender, options: ExchangeOptions): Promise<Answer> {
  const { signal, onSent, patient, ...request } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let answer = { status: 0, headers: {} as Answer['headers'] };
    let controller: Dispatcher.DispatchController | undefined;
    const abort = (): void => {
      controller?.abort(signal?.reason as Error);
      settle(() => reject(signal?.reason));
    };
    const settle = (end: () => void): void => {
      signal?.removeEventListener('abort', abort);
      end();
    };
    signal?.addEventListener('abort', abort, { once: true });
    sender.send(
      request,
      {
        onRequestStart(started) {
          if (signal?.aborted) return started.abort(signal.reason as Error);
          controller = started;
          onSent?.();
        },
        onResponseStart(_, status, headers) {
          // 1xx come before the answer.
          if (status >= 200) answer = { status, headers };
        },
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => {
          const [first] = chunks;
          const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
          settle(() => resolve({ ...answer, bytes }));
        },
        onResponseError: (_, error) => settle(() => reject(error)),
      },
      patient,
    );
  });
}
