/** The page on capacity: what a million robots need, computed from measured costs, the limits of Linux and the agent's own habits. */
import { BEAT_SECONDS } from '../../../simulators/device/uplink/mqtt.ts';
import { POLL_INTERVAL } from '../../../simulators/device/uplink/time.ts';
import { robotCost } from '../../../simulators/fleet/run/capacity.ts';
import type { Cost, Costs } from './costs.ts';
import { type Advice, type StormOutcome, storm } from './storm.ts';

/**
 * What one machine of a cluster has. `descriptors`: that one process may open. `ports`: connections from one address to one other, the
 * range that Linux gives out.
 */
const MACHINE = { memoryBytes: 16e9, cores: 4, descriptors: 20_000, ports: 28_232 };
/** A generator that uses more of its processors says little about a platform. */
const USABLE_CORES = 0.7;
/** The rest of the memory and of the descriptors is left to others. */
const USABLE = 0.85;
const FLEETS = [10_000, 100_000, 1_000_000];
const CAPACITIES = [1000, 5000, 20_000];
const ADVICE: readonly [Advice, string][] = [
  ['none', 'no advice'],
  [30, 'Retry-After: 30'],
  ['reserved', 'Retry-After of a reserved moment'],
];

export function capacityPage(costs: Costs): string {
  return `# What a fleet of a million robots takes

\`npm run capacity -- --write\` writes this page. Nothing here was run with a million robots: memory and processor of one robot are
measured, and the rest is computed from them or simulated. \`npm run capacity -- --measure\` measures them anew.

Measured on ${costs.measured} with ${count(costs.robots)} robots, 1024-bit keys, one subscriber and one MQTT connection each:

${table(
  ['of one robot', 'memory, whole', 'memory, one more', 'processor, idle', 'processor, to come up'],
  [costRow('muster fleet', costs.fleet), costRow('muster simulate platform', costs.platform)],
)}
_Whole_ is the memory of all processes over all robots. It is PSS, so that shared pages count once.

## The generator

A machine has ${gigabytes(MACHINE.memoryBytes)} and ${MACHINE.cores} cores. ${percent(USABLE)} of its memory and of the
${count(MACHINE.descriptors)} descriptors of a process are used, and ${percent(USABLE_CORES)} of its processors.

${table(
  ['robots', 'memory', 'cores, idle', 'to come up in 10 min', 'processes', 'addresses', 'machines', 'decided by'],
  FLEETS.map((robots) => generatorRow(robots, costs.fleet)),
)}
_Addresses_: from one address to one port of a platform there are ${count(MACHINE.ports)} connections, unless the platform listens on
more ports or addresses. _Processes_: \`--workers\` on each machine, or shards.

## The platform

What an idle fleet asks of it, and what the simulated platform would take for that. A platform of your own takes something else: the
rates are the agent's, the memory is not.

${table(
  ['robots', 'connections', 'keep-alives', 'syncs', 'memory of the simulated broker and API'],
  FLEETS.map((robots) => platformRow(robots, costs.platform)),
)}
An agent sends a keep-alive every ${BEAT_SECONDS} s and syncs every ${POLL_INTERVAL / 3_600_000} h unless it is asked to.

## A reconnect storm

Every robot loses its connection at the same moment. The platform admits so many connections a second, and refuses the others at once.
Robots wait 1 s, then twice as long after each refusal, up to 5 min, each ± 25 %.

${table(['robots', 'admitted', 'advice', 'half are back', '99 % are back', 'all are back', 'attempts', 'busiest second'], stormRows())}
${lessons()}
${agreement(costs)}`;
}

const costRow = (name: string, cost: Cost): string[] => [
  `\`${name}\``,
  kibibytes(cost.whole),
  kibibytes(cost.marginal),
  `${cost.idleMs} ms/s`,
  `${cost.startMs} ms`,
];

function generatorRow(robots: number, { whole, idleMs, startMs }: Cost): string[] {
  const { descriptors, ports } = robotCost({});
  const memory = robots * whole;
  const idle = (robots * idleMs) / 1000;
  const start = (robots * startMs) / 1000 / 600;
  const needs = {
    memory: memory / (MACHINE.memoryBytes * USABLE),
    processor: Math.max(idle, start) / (MACHINE.cores * USABLE_CORES),
    ports: (robots * ports) / MACHINE.ports,
  };
  const [decided, machines] = Object.entries(needs).reduce((most, next) => (next[1] > most[1] ? next : most));
  return [
    count(robots),
    gigabytes(memory),
    idle.toFixed(1),
    `${start.toFixed(1)} cores`,
    count(Math.ceil((robots * descriptors) / (MACHINE.descriptors * USABLE))),
    count(Math.ceil(needs.ports)),
    count(Math.ceil(machines)),
    decided,
  ];
}

const platformRow = (robots: number, { marginal }: Cost): string[] => [
  count(robots),
  count(robots),
  `${count(Math.round(robots / BEAT_SECONDS))}/s`,
  `${((robots * 1000) / POLL_INTERVAL).toPrecision(2)}/s`,
  gigabytes(robots * marginal),
];

function stormRows(): string[][] {
  return CAPACITIES.flatMap((capacity) =>
    ADVICE.map(([advice, name]) => {
      const { back, attempts, busiest } = million(capacity, advice);
      return [
        '1,000,000',
        `${count(capacity)}/s`,
        name,
        ...[back.p50, back.p99, back.all].map(minutes),
        count(attempts),
        count(busiest),
      ];
    }),
  );
}

const known = new Map<string, StormOutcome>();
function million(capacity: number, advice: Advice): StormOutcome {
  const name = `${capacity} ${advice}`;
  const outcome = known.get(name) ?? storm({ robots: 1_000_000, capacity, advice });
  known.set(name, outcome);
  return outcome;
}

function lessons(): string {
  const alone = million(5000, 'none');
  const reserved = million(5000, 'reserved');
  const times = (alone.back.all / reserved.back.all).toFixed(1);
  return `The first second decides what must be survived: half of the fleet asks within it, whatever the platform admits. Delays that double
spread the robots, and overshoot: at 5,000 a second they take ${times} times as long as robots that are told when there will be room.
The same Retry-After for all moves the crowd without spreading it.
`;
}

function agreement({ storm: measured }: Costs): string {
  const { robots, capacity, real } = measured;
  const told = storm({ robots, capacity, answers: real.busiest });
  const rows = (['p50', 'all', 'mean'] as const).map((share) => [
    { p50: 'half are back', all: 'all are back', mean: 'away on average' }[share],
    minutes(told.back[share]),
    minutes(real.back[share]),
    difference(told.back[share], real.back[share]),
  ]);
  const attempts = ['attempts', count(told.attempts), count(real.attempts), difference(told.attempts, real.attempts)];
  return `## Does the simulation tell the truth?

\`npm run bench -- --only storm\` cuts ${count(robots)} real robots off from their broker and lets ${count(capacity)} a second in again. Of
the run on ${measured.measured}, when the machine answered at most ${count(real.busiest)} attempts a second:

${table(['', 'simulated', 'real', 'difference'], [...rows, attempts])}`;
}

const difference = (told: number, real: number): string => `${((100 * (told - real)) / real).toFixed(1)} %`;
const count = (value: number): string => value.toLocaleString('en');
const percent = (share: number): string => `${Math.round(share * 100)} %`;
const kibibytes = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KiB`;
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toPrecision(3)} GB`;
const minutes = (ms: number): string =>
  ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;

/** With columns of one width each, as the formatter wants them. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(3, name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')}\n`;
}
