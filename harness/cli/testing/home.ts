/** Runs commands in a folder of the test's own. For tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { Running, type RunOptions } from './muster.ts';

/** A folder, another one for each test of a file, and commands that end with the test. */
export interface Home {
  path: string;
  start(words: readonly string[], options?: RunOptions): Running;
}

export function useHome(): Home {
  const runs: Running[] = [];
  const home: Home = {
    path: '',
    start: (words, options) => {
      const run = new Running(words, { cwd: home.path, ...options });
      runs.push(run);
      return run;
    },
  };
  beforeEach(() => {
    home.path = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  });
  afterEach(async () => {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(home.path, { recursive: true, force: true });
  });
  return home;
}

/** One request over a unix socket. */
export function ask(
  socketPath: string,
  path: string,
  method = 'GET',
  body = '',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, path, method, agent: false }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end(body);
  });
}
