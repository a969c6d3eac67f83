/** Ends shipped commands at random moments, by every signal, and checks that no process and no file remains. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { type Random, random } from '../../../simulators/common/random.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { MAIN, Running, typed } from '../../cli/testing/muster.ts';
import { sweep } from '../../common/owner.ts';
import { inParallel } from '../../common/parallel.ts';
import { isBesideName } from '../../common/user-files.ts';
import { pollWithin } from '../../common/waiting.ts';
import { count, seed, toolOptions } from '../options.ts';

const PATIENCE_MS = 180_000;

/** Exit code for each way to end; `terminal` closes the output and sends SIGHUP, as a lost SSH connection does. */
const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGKILL: null, terminal: 129 } as const;
type Way = keyof typeof CODES;
const WAYS = Object.keys(CODES) as Way[];

const NODE = process.execPath;
const AGENT = `${NODE} ${MAIN} simulate device --socket {socket} --control {control} --dir {dir} --log-level warn`;
/** Agent that ignores signals, so that only SIGKILL ends it. */
const STUBBORN = `trap '' HUP INT TERM; ${AGENT} & wait; wait`;

const COMMANDS: Readonly<Record<string, (at: (name: string) => string) => string[]>> = {
  'check device': (at) => typed`check device --command ${AGENT} --fast --report json=${at('r.json')}`,
  'check device, stubborn': (at) => typed`check device --command ${STUBBORN} --report html=${at('r.html')}`,
  'check device, enrolled': () => typed`check device --command ${AGENT} --control platform --fast`,
  'check system': () => typed`check system --command ${AGENT} --fast`,
  'check client': (at) => typed`check client --command ${'sleep 600'} --report junit=${at('r.xml')}`,
  compare: () => typed`compare --command ${AGENT} --command ${AGENT} -- --fast`,
  fleet: (at) =>
    typed`fleet --robots 20 --workers 2 --platform embedded --key-bits 1024 --out ${at('out')} --state ${at('state')}`,
  demo: (at) => typed`demo --robots 10 --out ${at('out')}`,
  merge: (at) => typed`merge ${at('shards')} --expect 2 --watch --out ${at('out')}`,
  'simulate device': (at) =>
    typed`simulate device --socket ${at('s')} --control ${at('c')} --dir ${at('robot')} --ui --log-level info`,
  'simulate platform': (at) => typed`simulate platform --db ${at('p.db')} --devices 20 --control 0 --ui`,
};

/** Runs only on Linux, because it finds processes in /proc. */
export const ends = {
  about: 'all commands, ended at any moment, by every signal and with their terminal',
  run: async (words: readonly string[], say: (line: string) => void): Promise<readonly string[]> => {
    const options = { times: count('ends of commands', 200), seed: seed('draws when each one comes') };
    const { times, seed: drawn } = toolOptions('npm run soak -- ends [options]', options, { words });
    using folder = scratch();
    const dice = random(drawn);
    const problems: string[] = [];
    let inTheMiddle = 0;
    const numbers = Array.from({ length: times }, (_, number) => number);
    const names = Object.keys(COMMANDS);
    await inParallel(numbers, 2, async (number) => {
      const name = names[number % names.length] ?? '';
      const way = WAYS[(number + Math.floor(number / names.length)) % WAYS.length] ?? 'SIGKILL';
      const place = join(folder.path, String(number));
      const found = await ended(name, way, place, `${drawn}-${number}`, dice.fork(number));
      if (found.underWay) inTheMiddle += 1;
      const remains = found.problems.length === 0 ? 'nothing is left' : found.problems.join('; ');
      say(`${number + 1}. ${found.line}: ${remains}`);
      problems.push(...found.problems.map((problem) => `${found.line}: ${problem}`));
    });
    say(`seed ${drawn}: ${inTheMiddle} of ${times} commands were still running at their end`);
    return inTheMiddle > 0 ? problems : [...problems, 'no command was ended in the middle'];
  },
};

async function ended(name: string, way: Way, place: string, tag: string, dice: Random) {
  const at = (file: string): string => join(place, file);
  const tmp = at('t');
  for (const folder of [tmp, at('shards')]) mkdirSync(folder, { recursive: true });
  const env = { TMPDIR: tmp, MUSTER_ENDS: tag, XDG_STATE_HOME: at('home'), MUSTER_API_KEY: '' };
  const running = new Running(COMMANDS[name]?.(at) ?? [], { cwd: place, env });
  const seconds = dice.chance(0.3) ? dice.next() : dice.next() * 12;
  await Promise.race([setTimeout(seconds * 1000), running.ended]);
  const { child } = running;
  const underWay = child.exitCode === null && child.signalCode === null;
  if (way === 'terminal') for (const output of [child.stdout, child.stderr]) output?.destroy();
  if (underWay) child.kill(way === 'terminal' ? 'SIGHUP' : way);
  const line = `${name}, ${way} after ${seconds.toFixed(1)} s`;
  const problems: string[] = [];
  const late = setTimeout(PATIENCE_MS, undefined, { ref: false });
  if ((await Promise.race([running.ended, late])) === undefined) {
    problems.push('it does not end');
    child.kill('SIGKILL');
  }
  problems.push(
    ...problemOf(name, way, running, underWay),
    ...(await remainsOf(tag, way === 'SIGKILL' && underWay, at)),
  );
  return { underWay, line, problems };
}

function problemOf(name: string, way: Way, { child, stdout, stderr }: Running, underWay: boolean): string[] {
  const { exitCode, signalCode } = child;
  const sent = way === 'terminal' ? 'SIGHUP' : way;
  // A starting command does not handle signals yet.
  const isDue = exitCode === CODES[way] || signalCode === sent;
  // A command may end before the signal, or finish by itself.
  const mayBeDone = !underWay || [0, 1, 2].includes(exitCode ?? -1);
  const isTrace = /\n {4}at |node:internal/.test(stdout + stderr);
  return [
    ...(isDue || mayBeDone ? [] : [`${name} ended with ${exitCode ?? signalCode}`]),
    ...(isTrace ? [`it wrote a stack: ${stderr.slice(-500)}`] : []),
  ];
}

/** Processes and files that the command left; after SIGKILL, `sweep` first removes temporary folders. */
async function remainsOf(tag: string, wasKilled: boolean, at: (name: string) => string): Promise<string[]> {
  const none = await pollWithin('the end of its processes', () => (processesOf(tag).length === 0 ? true : undefined), {
    timeoutMs: PATIENCE_MS,
    firstPauseMs: 20,
  });
  const processes = none === true ? [] : processesOf(tag);
  const problems = processes.map(({ pid, words }) => `left running: ${words}, process ${pid}`);
  for (const { pid } of processes) process.kill(pid, 'SIGKILL');
  if (wasKilled) sweep(at('t'));
  problems.push(...readdirSync(at('t')).map((name) => `left in the folder for temporary files: ${name}`));
  if (wasKilled) return problems;
  const files = readdirSync(at('.'), { recursive: true, encoding: 'utf8' });
  const half = files.filter((file) => isBesideName(file.split('/').at(-1) ?? ''));
  problems.push(...half.map((file) => `half a file: ${file}`));
  problems.push(...['s', 'c'].filter((name) => existsSync(at(name))).map((name) => `a socket: ${name}`));
  return problems;
}

function processesOf(tag: string): { pid: number; words: string }[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      if (!readFileSync(`/proc/${entry}/environ`, 'utf8').split('\0').includes(`MUSTER_ENDS=${tag}`)) return [];
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      if ('ZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? 'X')) return [];
      const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 200);
      return [{ pid: Number(entry), words }];
    } catch {
      // The process has ended, or belongs to another user.
      return [];
    }
  });
}
