/** Starts modules of this folder as processes with an IPC channel, from source and from the published package alike. */
import { type ChildProcess, fork } from 'node:child_process';

const moduleUrl = (name: string): URL =>
  new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** `name` is the module without its extension; `flags` are for node. The environment of the process holds no secret. */
export function startProcess(name: string, flags: readonly string[] = []): ChildProcess {
  const { MUSTER_API_KEY: _, ...env } = process.env;
  const execArgv = [...process.execArgv, ...flags];
  return fork(moduleUrl(name), [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

export function whenExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}
