/** Calls and notices between the coordinator and a worker process, over the IPC channel of forked processes. */
import type { ChildProcess } from 'node:child_process';
import type { Host, HostConfig, HostEvents } from '../host/host.ts';

export type HostMethod = 'configure' | Exclude<keyof Host, 'name'>;

export interface Call {
  call: number;
  method: HostMethod;
  args: unknown[];
}
export type Reply = { reply: number; result?: unknown } | { reply: number; error: string };
export type Notice = { [K in keyof HostEvents]: { notice: K; value: Parameters<HostEvents[K]>[0] } }[keyof HostEvents];

/** The worker process ended before it answered. */
export class WorkerDied extends Error {
  override name = 'WorkerDied';
}

/** The coordinator's end of the channel. */
export class HostChannel {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  #died: WorkerDied | undefined;

  constructor(child: ChildProcess, name: string, events: HostEvents) {
    this.#child = child;
    this.#name = name;
    child.on('message', (message) => this.#receive(message as Reply | Notice, events));
    child.on('error', (error) => this.#end(error.message));
    child.on('exit', (code, signal) => this.#end(signal === null ? `exit code ${code}` : signal));
  }

  configure(config: HostConfig): Promise<unknown> {
    return this.call('configure', [config]);
  }

  call(method: HostMethod, args: unknown[]): Promise<unknown> {
    if (this.#died !== undefined) return Promise.reject(this.#died);
    this.#calls += 1;
    const call: Call = { call: this.#calls, method, args };
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.call, { resolve, reject });
      this.#child.send(call, (error) => {
        if (error !== null) this.#end(error.message);
      });
    });
  }

  #receive(message: Reply | Notice, events: HostEvents): void {
    if ('notice' in message) {
      (events[message.notice] as (value: unknown) => void)(message.value);
      return;
    }
    const waiting = this.#waiting.get(message.reply);
    this.#waiting.delete(message.reply);
    if ('error' in message) waiting?.reject(new Error(`${this.#name}: ${message.error}`));
    else waiting?.resolve(message.result);
  }

  #end(how: string): void {
    this.#died ??= new WorkerDied(`${this.#name} (process ${this.#child.pid ?? '?'}) ended: ${how}`);
    for (const { reject } of this.#waiting.values()) reject(this.#died);
    this.#waiting.clear();
  }
}
