/** Commands in the order of the help; the module of a command loads only when the command runs. */
import type { AnyCommand } from './options.ts';

export type CommandEntry = ReturnType<typeof entry>;
export type CommandGroup = { name: string; describe: string; members: readonly CommandEntry[] };

function entry(line: string, describe: string, load: () => Promise<AnyCommand>) {
  const [name = '', ...positionals] = line.split(' ');
  return { name, positionals, describe, load };
}

export const ABOUT = 'Simulates robots and checks that a Device API or Platform API conforms to its specification.';

export const COMMANDS: readonly (CommandEntry | CommandGroup)[] = [
  entry(
    'demo',
    'Run everything once: a platform, a fleet, a roll-out, and checks of both APIs (what npm start runs)',
    async () => (await import('./commands/demo.ts')).demo,
  ),
  entry(
    'init',
    'Write muster.yaml, and a job for your CI: asks four questions, or takes options',
    async () => (await import('./commands/init.ts')).init,
  ),
  {
    name: 'check',
    describe: 'Check an implementation against the specification',
    members: [
      entry(
        'device',
        'Check a Device API: an agent on its socket, loopback port or URL, or started by a command or image',
        async () => (await import('./commands/check.ts')).checkDevice,
      ),
      entry(
        'platform',
        'Check a Platform API at its base URL, or started by a command or image',
        async () => (await import('./commands/check.ts')).checkPlatform,
      ),
      entry(
        'system',
        "Check agent and platform together; by default the agent is enrolled in Muster's own platform",
        async () => (await import('./commands/check.ts')).checkSystem,
      ),
      entry(
        'client',
        'Check a client of either API: started once a situation, with Muster as its server',
        async () => (await import('./commands/check.ts')).checkClient,
      ),
    ],
  },
  {
    name: 'watch',
    describe: 'Judge live traffic, or a recording of it, from between clients and a server',
    members: [
      entry(
        'device',
        'Stand between a Device API and its clients, forward every byte, and judge both sides',
        async () => (await import('./commands/watch.ts')).watchDevice,
      ),
      entry(
        'platform',
        'Stand between a Platform API and its clients, forward every byte, and judge both sides',
        async () => (await import('./commands/watch.ts')).watchPlatform,
      ),
    ],
  },
  {
    name: 'simulate',
    describe: 'Run a faithful server to develop against',
    members: [
      entry(
        'device',
        'Run a robot’s agent: Device API on a unix socket or loopback port, real event log, real config files',
        async () => (await import('./commands/simulate-device.ts')).simulateDeviceCommand,
      ),
      entry(
        'platform',
        'Run a Platform API in every published version, with an MQTT broker for agents',
        async () => (await import('./commands/simulate-platform.ts')).simulatePlatformCommand,
      ),
    ],
  },
  {
    name: 'mutate',
    describe: 'Run your own tests against servers that are wrong in known ways: they should fail',
    members: [
      entry(
        'client',
        'Run the tests of a client once a defect of the simulated device or platform, and once a legal variant',
        async () => (await import('./commands/mutate.ts')).mutateClient,
      ),
      entry(
        'system',
        'Run the tests of a platform once a defect of its robots, or those of an agent once a defect of its platform',
        async () => (await import('./commands/mutate.ts')).mutateSystem,
      ),
    ],
  },
  {
    name: 'clean',
    describe: 'Archive what earlier runs left',
    members: [
      entry(
        'platform',
        'Archive the deployments that earlier runs left on their devices, and say what stays',
        async () => (await import('./commands/clean.ts')).cleanPlatform,
      ),
    ],
  },
  entry(
    'fleet',
    'Run a scenario with thousands of simulated robots against a platform',
    async () => (await import('./commands/fleet.ts')).fleet,
  ),
  entry(
    'merge <dir..>',
    'Merge the shards of a fleet run into one result and evaluate its thresholds',
    async () => (await import('./commands/merge.ts')).merge,
  ),
  entry(
    'kubernetes',
    'Print the manifests of a fleet run on a Kubernetes cluster: its shards, and what merges them',
    async () => (await import('./commands/kubernetes.ts')).kubernetes,
  ),
  entry(
    'list [api]',
    'Show every requirement, its section and the checks that decide it',
    async () => (await import('./commands/explain.ts')).list,
  ),
  entry(
    'explain [id]',
    'Explain what a requirement or check asks for, and how it is decided',
    async () => (await import('./commands/explain.ts')).explain,
  ),
  entry(
    'replay <file>',
    'Run the failures of a JSON report again with the same counterexamples',
    async () => (await import('./commands/replay.ts')).replay,
  ),
  entry(
    'report <file>',
    'Write the JSON of a run or a fleet once more, as a page or in any other format',
    async () => (await import('./commands/report.ts')).report,
  ),
  entry(
    'compare [file..]',
    'Show what differs between releases or implementations, and gate a release by it',
    async () => (await import('./commands/compare.ts')).compare,
  ),
  entry(
    'fit <path..>',
    'Say which agents, platforms and clients go together, by their reports and certificates',
    async () => (await import('./commands/fit.ts')).fit,
  ),
  entry(
    'verify <file>',
    'Check a certificate, and show what it claims and what it does not',
    async () => (await import('./commands/verify.ts')).verify,
  ),
  entry(
    'keygen <file>',
    'Generate a key pair that signs certificates (Ed25519): FILE and FILE.pub',
    async () => (await import('./commands/keygen.ts')).keygen,
  ),
  entry(
    'completion <shell>',
    'Print a script with which Tab completes commands, options and choices',
    async () => (await import('./commands/completion.ts')).completion,
  ),
  entry(
    'doctor',
    'Say what this machine can run, and what to do about the rest',
    async () => (await import('./commands/doctor.ts')).doctor,
  ),
];
