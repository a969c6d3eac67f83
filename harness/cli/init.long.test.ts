import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { MAIN, typed, useHome } from './testing/muster.ts';

const home = useHome();
const AGENT = `${process.execPath} ${MAIN} simulate device --socket {socket} --dir {dir} --log-level warn`;
const init = (...words: string[]) => home.start(['init', ...words]).ended;
const read = (name: string): string => readFileSync(join(home.path, name), 'utf8');

test('init writes a job from its options, and the job’s line runs the check', async () => {
  expect(await init(...typed`--api device --command ${AGENT} --ci gitlab`)).toMatchObject({ code: 0, stderr: '' });
  const [build, line = ''] = parse(read('.gitlab-ci.yml')).conformance.script as string[];
  expect(build).toBe('true # build here what is checked');
  expect(line).toMatch(/^npx --yes muster-conformance@\d\S* check device$/);
  const own = line.replace(/^npx --yes \S+/, `"${process.execPath}" "${MAIN}"`);
  execFileSync('sh', ['-c', `${own} --only device.version.prefix`], { cwd: home.path });
  expect(read('muster-report/device.xml')).toContain('<testsuite');
  expect(existsSync(join(home.path, 'muster-report/device.html'))).toBe(true);
});

test('the line of the job has the packages that containers and a platform need', async () => {
  expect(await init(...typed`--api device --image agent:1 --control platform --ci jenkins`)).toMatchObject({ code: 0 });
  const [line = ''] = /npx [^']+/.exec(read('Jenkinsfile')) ?? [];
  const more = 'testcontainers aedes@1 fastify@5 mqtt@5 mqtt-packet@9'.replaceAll(/\S+/g, '--package $&');
  expect(line).toMatch(new RegExp(`^npx --yes --package muster-conformance@\\S+ ${more} muster check device$`));
});

test('init prints a job instead of overwriting one, and refuses an existing muster.yaml', async () => {
  mkdirSync(join(home.path, '.github/workflows'), { recursive: true });
  writeFileSync(join(home.path, '.github/workflows/muster.yaml'), 'mine');
  const words = typed`--api platform --url http://127.0.0.1:1 --ci github --baseline`;
  const { stdout } = await init(...words);
  expect(parse(read('muster.yaml')).check.platform.report[0]).toBe('github');
  expect(stdout).not.toContain('--report');
  expect(stdout).toMatch(/muster\.yaml is there already; add this to it:\n\n {4}name: Muster/);
  expect(stdout).toMatch(/MUSTER_API_KEY: \$\{\{ secrets\.MUSTER_API_KEY \}\}/);
  expect(stdout).toContain('run: muster check platform --update-baseline');
  expect(read('.github/workflows/muster.yaml')).toBe('mine');
  for (const isLink of [false, true]) {
    if (isLink) rmSync(join(home.path, 'muster.yaml'));
    if (isLink) symlinkSync('nowhere', join(home.path, 'muster.yaml'));
    const again = await init(...words);
    expect([again.code, again.stderr]).toEqual([64, expect.stringContaining('muster.yaml: is there already')]);
  }
});

test('init asks on a terminal, and names missing options without one', async () => {
  const none = await init(...typed`--api client --url x`);
  expect([none.code, none.stderr]).toEqual([64, expect.stringContaining('--ci: missing')]);
  const wrong = await init(...typed`--api client --url x --ci none`);
  expect(wrong.stderr).toContain('--url: check client takes command or image');
  const answers = 'devise\ndevice\nsocket\n/run/agent.sock\nhttp://127.0.0.1:7700\njenkins\nyes\n';
  const line = `"${process.execPath}" "${MAIN}" init`;
  execFileSync('script', ['-qefc', line, '/dev/null'], { cwd: home.path, input: answers });
  expect(parse(read('muster.yaml'))).toEqual({
    check: {
      device: {
        socket: '/run/agent.sock',
        control: 'http://127.0.0.1:7700',
        require: ['drive'],
        report: ['pretty', 'junit=muster-report/device.xml', 'html=muster-report/device.html'],
        baseline: 'muster.baseline.yaml',
      },
    },
  });
  expect(read('Jenkinsfile')).toContain("sh 'npx --yes muster-conformance@");
  rmSync(join(home.path, 'muster.yaml'));
  const rest = `${line} --api device --socket /run/agent.sock --ci none`;
  execFileSync('script', ['-qefc', rest, '/dev/null'], { cwd: home.path, input: 'platform\n' });
  expect(parse(read('muster.yaml')).check.device).toMatchObject({ control: 'platform', require: ['drive'] });
});

test('init writes nothing when the folder of its job cannot be made', async () => {
  writeFileSync(join(home.path, '.github'), 'a file');
  const { code, stderr } = await init(...typed`--api platform --url http://127.0.0.1:1 --ci github`);
  expect([code, stderr]).toEqual([64, expect.stringContaining('muster.yaml: cannot be written (')]);
  expect(existsSync(join(home.path, 'muster.yaml'))).toBe(false);
});
