import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, expect, it } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { EXIT } from '../common/usage.ts';
import { type Ended, Running, type RunOptions, useFolder, withoutDocker, withoutPackages } from './testing/muster.ts';

const at = useFolder();

const INFO = { ServerVersion: '9.8.7', OperatingSystem: 'Hosted', OSType: 'linux', Architecture: 'x86_64' };
const docker = await listenAt(
  createServer((_, response) => void response.end(JSON.stringify(INFO))),
  { port: 0 },
);
afterAll(() => docker.close());
const DOCKER_HOST = `tcp://127.0.0.1:${docker.port}`;

const said = async (options: RunOptions, ...more: string[]): Promise<Ended & { lines: string[] }> => {
  const env = { DOCKER_HOST, COLUMNS: '100', ...options.env };
  const ended = await new Running(['doctor', ...more], { ...options, env }).ended;
  return { ...ended, lines: ended.stdout.replaceAll(/\n {4}/g, ' ').split('\n') };
};

it('doctor lists each feature under its use, and leaves no files', async () => {
  mkdirSync(at('tmp'));
  const { code, stderr, lines } = await said({ env: { TMPDIR: at('tmp') } });
  expect(lines).toEqual([
    'Checks',
    expect.stringMatching(/^ {2}✓ Node: \d+\.\d+\.\d+, and \d+\.\d+ or later is needed$/),
    expect.stringMatching(/^ {2}✓ Muster: \d+\.\d+\.\d+$/),
    `  ✓ unix socket: can be bound in ${at('tmp')}`,
    expect.stringMatching(/^ {2}✓ loopback port: can be bound on 127\.0\.0\.1, (?:and on ::1|not on ::1 \(.+\))$/),
    expect.stringMatching(/^ {2}✓ temporary folder: .+, [\d,.]+ [MG]iB free$/),
    '',
    'Agents in containers (--image)',
    '  ✓ testcontainers: installed',
    '  ✓ container runtime: answers: 9.8.7 on Hosted, x86_64',
    '',
    'Fleets and platforms of Muster',
    '  ✓ packages: installed',
    expect.stringMatching(/^ {2}[✓!] open files: /),
    expect.stringMatching(/^ {2}[✓!] robots: /),
    '',
    'Lines that repeat a finding',
    expect.stringMatching(/^ {2}(?:✓ curl: \/|! curl: not found)/),
    expect.stringMatching(/^ {2}(?:✓ socat: \/|! socat: not found)/),
    '',
    expect.stringMatching(/^(?:Everything|Checks) can run here\./),
    '',
  ]);
  expect(stderr).toBe('');
  expect(code).toBe(EXIT.conformant);
  expect(readdirSync(at('tmp'))).toEqual([]);
});

it('doctor exits with 3 when the temporary path is too long for a socket', async () => {
  const long = at('x'.repeat(120));
  mkdirSync(long);
  const { code, lines } = await said({ env: { TMPDIR: long } });
  expect(lines).toContainEqual(
    expect.stringMatching(/! unix socket: socket path .+ at most 107 are possible\. Set TMPDIR to .+ such as \/tmp\.$/),
  );
  expect(lines).toContainEqual(expect.stringMatching(/✓ temporary folder: /));
  expect(lines).toContain('Checks cannot run here: see ! below Checks.');
  expect(code).toBe(EXIT.harness);
  expect(readdirSync(long)).toEqual([]);
});

it('doctor --json reports each feature, and a missing temporary folder with a remedy', async () => {
  const { code, stdout } = await said({ env: { TMPDIR: at('none') } }, '--json');
  const { checks, ...more } = JSON.parse(stdout) as { checks: Record<string, unknown>[] };
  expect(more).toEqual({});
  const names = ['Node', 'Muster', 'unix socket', 'loopback port', 'temporary folder'];
  expect(checks.map(({ name }) => name).slice(0, 5)).toEqual(names);
  for (const { todo, ...check } of checks) {
    expect(check).toEqual({ name: expect.any(String), ok: expect.any(Boolean), seen: expect.any(String) });
    expect(todo === undefined).toBe(check['ok']);
  }
  expect(checks[4]).toEqual({
    name: 'temporary folder',
    ok: false,
    seen: expect.stringMatching(/no folder can be made here \(ENOENT: .*\)/),
    todo: expect.stringMatching(/^Set TMPDIR to a folder that this user can write to, with \d+ MiB free\.$/),
  });
  expect(code).toBe(EXIT.harness);
});

it('checks can run without a container runtime', async (context) => {
  const { code, lines } = await said({ env: { DOCKER_HOST: 'tcp://127.0.0.1:1' }, under: withoutDocker(context) });
  expect(lines).toContainEqual(
    expect.stringMatching(/! container runtime: none answers \(.+\)\. Start Docker and try `docker info`, or set DOCK/),
  );
  expect(lines).toContain('Checks can run here. A line with ! matters only for the features in its heading.');
  expect(code).toBe(EXIT.conformant);
});

it('checks can run without the optional packages, and with few descriptors', async () => {
  const under = ['sh', '-c', 'ulimit -n 256 && exec "$0" "$@"'];
  const { code, lines } = await said({ env: withoutPackages('testcontainers', 'fastify'), under });
  expect(lines).toContain(
    "  ! testcontainers: Cannot find package 'testcontainers'. Run: npm install --save-dev testcontainers",
  );
  expect(lines).toContainEqual(expect.stringMatching(/! container runtime: .*Cannot find package 'testcontainers'/));
  expect(lines).toContainEqual(
    expect.stringMatching(/! packages: Cannot find package 'fastify'\. Run: npm install --save-dev aedes@1 fastify@5 /),
  );
  expect(lines).toContain('  ! open files: 256 a process, which suffice for 0 robots. Raise `ulimit -n`.');
  expect(lines).toContainEqual(expect.stringMatching(/! robots: 200 robots do not fit: descriptors of this machine/));
  expect(code).toBe(EXIT.conformant);
});
