/** Every command, in the order in which help shows them. */
import type { Argv, CommandModule } from 'yargs';
import { type LazyCommand, lazy, positionalsOf } from './lazy.ts';

const check = [
  lazy(
    'device',
    'Check a Device API: an agent on its socket, loopback port, URL, or started by a command or image',
    async () => (await import('./check-device.ts')).checkDevice,
  ),
  lazy(
    'platform',
    'Check a Platform API at its base URL, or started by a command or image',
    async () => (await import('./check-platform.ts')).checkPlatform,
  ),
  lazy(
    'system',
    "Check agent and platform together: by default the agent in Muster's own platform",
    async () => (await import('./check-system.ts')).checkSystem,
  ),
];

const simulate = [
  lazy(
    'device',
    'Run a robot’s agent: Device API on a unix socket or loopback port, real event log, real config files',
    async () => (await import('./simulate-device.ts')).simulateDeviceCommand,
  ),
  lazy(
    'platform',
    'Run a Platform API in every published version, with an MQTT broker for agents',
    async () => (await import('./simulate-platform.ts')).simulatePlatformCommand,
  ),
];

const commands = [
  lazy(
    'demo',
    'See it all at work: a platform, a fleet, a roll-out, and a verdict on both (what npm start runs)',
    async () => (await import('./demo.ts')).demo,
  ),
  group(
    'check',
    'Judge an implementation against the specification',
    check,
    'Name what to check: device, platform or system.',
  ),
  group('simulate', 'Run a faithful server to develop against', simulate, 'Name what to simulate: device or platform.'),
  lazy(
    'fleet',
    'Run a scenario with thousands of simulated robots against a platform',
    async () => (await import('./fleet.ts')).fleet,
  ),
  lazy(
    'merge <dir..>',
    'Join the shards of a fleet run into one result, thresholds evaluated over all of it',
    async () => (await import('./merge.ts')).merge,
  ),
  lazy(
    'list [api]',
    'Show every requirement, its section and the checks that decide it',
    async () => (await import('./list.ts')).list,
  ),
  lazy(
    'explain <id>',
    'Tell what a requirement or check asks for, and how it is decided',
    async () => (await import('./explain.ts')).explain,
  ),
  lazy(
    'replay <file>',
    'Run the failures of a JSON report again, each with exactly its counterexample',
    async () => (await import('./replay.ts')).replay,
  ),
  lazy(
    'verify <file>',
    'Check a certificate, and say what it claims and what it does not',
    async () => (await import('./verify.ts')).verify,
  ),
  lazy(
    'keygen <file>',
    'Make a key that signs certificates (Ed25519): FILE and FILE.pub',
    async () => (await import('./keygen.ts')).keygen,
  ),
];

interface Group extends CommandModule {
  command: string;
  members: readonly LazyCommand[];
}

function group(command: string, describe: string, members: readonly LazyCommand[], missing: string): Group {
  return {
    command,
    describe,
    members,
    builder: (argv) => argv.command([...members] as never).demandCommand(1, missing),
    handler: () => {},
  };
}

export function register(cli: Argv): Argv {
  return commands.reduce((argv, command) => argv.command(command), cli);
}

export interface Found {
  /** The words that are a command, as far as they are. */
  path: string[];
  /** What the command takes beside options. */
  positionals: string[];
  load?(): Promise<unknown>;
  /** The word where a command should stand and none does; with those that could stand there. */
  stranger?: { word: string; known: string[] };
}

/** The command that a command line names. An option where a command should stand is left to the parser. */
export function find(words: readonly string[]): Found {
  const path: string[] = [];
  let among: readonly (LazyCommand | Group)[] = commands;
  for (const word of words) {
    if (word.startsWith('-')) break;
    const named = among.find(({ command }) => nameOf(command) === word);
    if (named === undefined)
      return { path, positionals: [], stranger: { word, known: among.map(({ command }) => nameOf(command)) } };
    path.push(word);
    if ('load' in named) return { path, positionals: positionalsOf(named.command), load: () => named.load() };
    among = named.members;
  }
  return { path, positionals: [] };
}

function nameOf(command: string): string {
  return command.split(' ', 1)[0] ?? command;
}
