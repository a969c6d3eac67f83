import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer, type ListenOptions } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { listening, listenUnix } from '../../../simulators/device/transport.ts';
import { thousands } from '../../../simulators/fleet/measure/costs.ts';
import {
  baseDirFor,
  isInMemory,
  machineLimits,
  preflight,
  ROBOTS_PER_CORE,
  robotCost,
  sensibleWorkers,
} from '../../../simulators/fleet/run/capacity.ts';
import { defined } from '../../common/defined.ts';
import { ownedFolder } from '../../common/owner.ts';
import { ADD_PLATFORM_PACKAGES, PLATFORM_PACKAGES, packageName } from '../../common/platform-packages.ts';
import { hanging, painter, printableJson, printableLine, withoutCiCommands, wrap } from '../../common/terminal.ts';
import { memoryText, readableDuration } from '../../common/units.ts';
import { EXIT, exitCodesText } from '../../common/usage.ts';
import { Patience } from '../../common/waiting.ts';
import { executableOf } from '../../targets/identity.ts';
import { containerRuntime, reasonOf } from '../../targets/launch/container.ts';
import { columns, command, OPTION } from '../options.ts';
import { OLDEST_NODE, VERSION } from '../version.ts';

const NEEDED = 'Checks';
const CONTAINERS = 'Agents in containers (--image)';
const FLEETS = 'Fleets and platforms of Muster';
const REPEATING = 'Lines that repeat a finding';

export const doctor = command({
  options: { json: OPTION.flag('As JSON') },
  examples: [
    ['muster doctor', 'what works here, and what to do about the rest'],
    ['muster doctor --json', 'for a script'],
  ],
  epilogue: `Exit codes: ${exitCodesText('doctor')}.`,
  async run({ json }) {
    const findings: Finding[] = [];
    const paint = painter(process.stdout, process.env);
    for (const probe of PROBES) {
      const finding = await diagnose(probe);
      const { group, name, ok, seen, todo } = finding;
      const before = findings.at(-1)?.group;
      findings.push(finding);
      if (json) continue;
      const heading = group === before ? [] : [...(before === undefined ? [] : ['']), paint(['bold', 'cyan'], group)];
      const mark = ok ? paint('green', '✓') : paint(group === NEEDED ? 'red' : 'yellow', '!');
      const words = printableLine(`${name}: ${seen}${todo === undefined ? '' : `. ${todo}`}`);
      process.stdout.write(
        withoutCiCommands(`${[...heading, ...hanging(mark, wrap(words, columns() - 4), 2, 2)].join('\n')}\n`),
      );
    }
    const able = findings.every(({ group, ok }) => ok || group !== NEEDED);
    const checksRun = findings.every(({ ok }) => ok)
      ? 'Everything can run here.'
      : 'Checks can run here. A line with ! matters only for the features in its heading.';
    const ending = able ? checksRun : `Checks cannot run here: see ! below ${NEEDED}.`;
    process.stdout.write(
      json
        ? `${printableJson({ checks: findings.map(({ group: _, waits: __, ...check }) => check) }, 2)}\n`
        : `\n${ending}\n`,
    );
    const code = able ? EXIT.conformant : EXIT.harness;
    // Exits immediately, because an unanswered probe would keep the process running.
    if (findings.some(({ waits }) => waits)) process.exit(code);
    return code;
  },
});

interface Probe {
  group: string;
  name: string;
  /** Returns the result as text; throws if the machine lacks the feature. */
  probe(): string | Promise<string>;
  todo?: string;
}

type Finding = Omit<Probe, 'probe'> & { ok: boolean; seen: string; waits: boolean };

class Silent extends Error {}

const PATIENCE_MS = 5000;
/** Free bytes that logs, config files and the report of a check need. */
const FREE_BYTES = 16 * 2 ** 20;
const ROBOTS = 200;

const PROBES: readonly Probe[] = [
  { group: NEEDED, name: 'Node', probe: () => `${process.versions.node}, and ${OLDEST_NODE} or later is needed` },
  { group: NEEDED, name: 'Muster', probe: () => VERSION },
  {
    group: NEEDED,
    name: 'unix socket',
    async probe() {
      using folder = temporary();
      // Tries the longest file name of Muster's sockets, because a socket's path is limited to about 100 bytes.
      const path = join(folder.path, 'control.sock');
      const { close } = await listenUnix(
        path,
        () => {},
        () => {},
      );
      close();
      return `can be bound in ${tmpdir()}`;
    },
    todo: 'Set TMPDIR to a folder on a disk of this machine, with a short path such as /tmp.',
  },
  {
    group: NEEDED,
    name: 'loopback port',
    async probe() {
      await bind({ host: '127.0.0.1', port: 0 });
      const sixth = await bind({ host: '::1', port: 0 }).then(
        () => 'and on ::1',
        (error: unknown) => `not on ::1 (${reasonOf(error)})`,
      );
      return `can be bound on 127.0.0.1, ${sixth}`;
    },
    todo: 'Allow programs to listen on 127.0.0.1.',
  },
  {
    group: NEEDED,
    name: 'temporary folder',
    probe() {
      using folder = temporary();
      writeFileSync(join(folder.path, 'file'), VERSION);
      const { bavail, blocks, bsize } = statfsSync(folder.path);
      // Some network disks report a size of 0, which is no lack of space.
      if (blocks === 0) return tmpdir();
      const seen = `${tmpdir()}, ${memoryText(bavail * bsize)} free`;
      if (bavail * bsize < FREE_BYTES) throw new Error(seen);
      return seen;
    },
    todo: `Set TMPDIR to a folder that this user can write to, with ${memoryText(FREE_BYTES)} free.`,
  },
  {
    group: CONTAINERS,
    name: 'testcontainers',
    probe: () => import('testcontainers').then(() => 'installed'),
    todo: 'Run: npm install --save-dev testcontainers',
  },
  {
    group: CONTAINERS,
    name: 'container runtime',
    async probe() {
      const work = runtime();
      const { promise: silence, reject } = Promise.withResolvers<never>();
      const stop = new Patience(PATIENCE_MS).watch(() =>
        reject(new Silent(`no answer within ${readableDuration(PATIENCE_MS)}`)),
      );
      try {
        return await Promise.race([work, silence]);
      } finally {
        stop();
      }
    },
    todo: 'Start Docker and try `docker info`, or set DOCKER_HOST.',
  },
  {
    group: FLEETS,
    name: 'packages',
    async probe() {
      await Promise.all(PLATFORM_PACKAGES.map((wanted) => import(packageName(wanted))));
      return 'installed';
    },
    todo: ADD_PLATFORM_PACKAGES,
  },
  {
    group: FLEETS,
    name: 'open files',
    probe() {
      const { limits, holds } = fleet();
      const { descriptors } = limits;
      if (!Number.isFinite(descriptors)) return 'how many a process may have is not known here';
      const { capacity } = holds(1);
      const seen = `${thousands(descriptors)} a process, which suffice for ${thousands(capacity.descriptors)} robots`;
      if (capacity.descriptors < 1) throw new Error(seen);
      return seen;
    },
    todo: 'Raise `ulimit -n`.',
  },
  {
    group: FLEETS,
    name: 'robots',
    probe() {
      const { lively, holds, workers } = fleet();
      const { capacity, problems } = holds(workers);
      if (problems.length > 0) throw new Error(problems.join('; '));
      const held = Object.entries({ processors: lively, ...capacity })
        .filter(([, count]) => Number.isFinite(count))
        .sort(([, one], [, other]) => one - other);
      const counts = held.map(([resource, count]) => `${resource} ${thousands(count)}`);
      return `about ${thousands(held[0]?.[1] ?? 0)} in all (${counts.join(', ')})`;
    },
    todo: 'Start fewer: --robots N.',
  },
  ...['curl', 'socat'].map((tool) => ({
    group: REPEATING,
    name: tool,
    probe() {
      const found = executableOf(tool);
      if ('problem' in found) throw new Error('not found in PATH');
      return found.file;
    },
    todo: `Install ${tool}, or repeat findings with \`muster replay\`.`,
  })),
];

async function diagnose({ group, name, probe, todo }: Probe): Promise<Finding> {
  try {
    return { group, name, ok: true, seen: await probe(), waits: false };
  } catch (error) {
    return { group, name, ok: false, seen: reasonOf(error), ...defined({ todo }), waits: error instanceof Silent };
  }
}

async function bind(options: ListenOptions): Promise<void> {
  const server = createServer();
  await listening(server, options);
  server.close();
}

function temporary(): { path: string } & Disposable {
  const path = ownedFolder('doctor');
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

async function runtime(): Promise<string> {
  const { client } = await containerRuntime('').catch((error: unknown) => {
    const { cause } = error as { cause?: unknown };
    throw new Error(`none answers (${reasonOf(cause ?? error)})`);
  });
  const { serverVersion, operatingSystem, architecture } = client.info.containerRuntime;
  return `answers: ${serverVersion} on ${operatingSystem}, ${architecture}`;
}

function fleet() {
  const cost = robotCost({ phases: [{ do: 'rollout', over: '0s' }] });
  const dir = baseDirFor(ROBOTS * cost.memoryDiskBytes);
  const limits = machineLimits(dir);
  const lively = limits.cores * ROBOTS_PER_CORE;
  const holds = (workers: number) =>
    preflight(ROBOTS, { workers, platform: true, filesInMemory: isInMemory(dir) }, cost, limits);
  return { limits, lively, holds, workers: sensibleWorkers(lively, cost, limits) };
}
