import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { PLATFORM_PACKAGES } from '../../common/platform-packages.ts';
import { UsageError } from '../../common/usage.ts';
import { whyNot } from '../../common/user-files.ts';
import { CONFIG_FILE, command, OPTION, type OptionsOf, type OptionTable } from '../options.ts';
import { VERSION } from '../version.ts';

const APIS = ['device', 'platform', 'client'] as const;
const REACHED = ['command', 'image', 'url', 'socket'] as const;

type Api = (typeof APIS)[number];

const NODE = 24;
const REPORTS = 'muster-report';

function jobLine(api: Api, { image }: { image?: string }, control: string | undefined): string {
  const more = [
    ...(image === undefined ? [] : ['testcontainers']),
    ...(control === 'platform' ? PLATFORM_PACKAGES : []),
  ];
  const muster = `muster-conformance@${VERSION}`;
  return more.length === 0
    ? `npx --yes ${muster} check ${api}`
    : `npx --yes ${[muster, ...more].map((name) => `--package ${name}`).join(' ')} muster check ${api}`;
}

const yaml = (value: object): string => stringify(value, { lineWidth: 0 });
const KEY = 'MUSTER_API_KEY';
const BUILD = 'true # build here what is checked';
const needsKey = (api: Api): boolean => api === 'platform';

const JOBS = {
  github: {
    file: '.github/workflows/muster.yaml',
    text: (api, line) =>
      yaml({
        name: 'Muster',
        on: ['push', 'pull_request'],
        permissions: { contents: 'read' },
        jobs: {
          conformance: {
            'runs-on': 'ubuntu-latest',
            'timeout-minutes': 20,
            steps: [
              { uses: 'actions/checkout@v5' },
              { uses: 'actions/setup-node@v5', with: { 'node-version': NODE } },
              { name: 'Build', run: BUILD },
              {
                run: line,
                ...(needsKey(api) && { env: { [KEY]: `\${{ secrets.${KEY} }}` } }),
              },
              { if: 'always()', uses: 'actions/upload-artifact@v5', with: { name: REPORTS, path: REPORTS } },
            ],
          },
        },
      }),
  },
  gitlab: {
    file: '.gitlab-ci.yml',
    text: (_, line) =>
      yaml({
        conformance: {
          image: `node:${NODE}`,
          timeout: '20 minutes',
          script: [BUILD, line],
          artifacts: { when: 'always', paths: [REPORTS], reports: { junit: `${REPORTS}/*.xml` } },
        },
      }),
  },
  jenkins: {
    file: 'Jenkinsfile',
    text: (api, line) => `pipeline {
  agent { docker { image 'node:${NODE}' } }
  options { timeout(time: 20, unit: 'MINUTES') }
${needsKey(api) ? `  environment { ${KEY} = credentials('${KEY}') }\n` : ''}  stages {
    stage('Build') {
      steps { sh '${BUILD}' }
    }
    stage('Conformance') {
      steps { sh '${line}' }
    }
  }
  post {
    always {
      junit '${REPORTS}/*.xml'
      archiveArtifacts '${REPORTS}/**'
    }
  }
}
`,
  },
} as const satisfies Record<string, { file: string; text(api: Api, line: string): string }>;

const BASELINE = 'muster.baseline.yaml';
const CI = ['github', 'gitlab', 'jenkins', 'none'] as const;

const options = {
  api: OPTION.oneOf(APIS, 'What you have: an agent on a device, a platform, or a client of either'),
  command: OPTION.text('The line that starts it, e.g. ./agent --socket {socket}'),
  image: OPTION.text('Or its container image'),
  url: OPTION.text('Or the base URL at which it runs'),
  socket: OPTION.text('Or the unix socket of the agent'),
  control: OPTION.text('What drives an agent: the address of its control API, platform, or none'),
  ci: OPTION.oneOf(CI, 'The service that runs your tests'),
  baseline: OPTION.flag('Begin with a baseline, which excuses what fails today'),
} as const satisfies OptionTable;

export const init = command({
  options,
  examples: [
    ['muster init', 'asks what it needs'],
    ["muster init --api device --command './agent --socket {socket}' --ci github", 'asks what drives it'],
    ['muster init --api client --command ./client --ci gitlab', 'asks nothing'],
  ],
  epilogue: 'No file is overwritten: if the CI file exists, the job is printed, to be added by hand.',
  async run(asked) {
    const { api, reached, driven, ci, baseline } = await answers(asked);
    const files = [`junit=${REPORTS}/${api}.xml`, `html=${REPORTS}/${api}.html`];
    const report = [...(ci === 'github' ? ['github'] : []), 'pretty', ...files];
    const own = { ...reached, ...driven, report, ...(baseline && { baseline: BASELINE }) };
    const schema = 'node_modules/muster-conformance/fixtures/schemas/muster.schema.json';
    const config = `# yaml-language-server: $schema=${schema}\n${yaml({ check: { [api]: own } })}`;
    if (isThere(CONFIG_FILE)) throw new UsageError(`${CONFIG_FILE}: is there already; edit it, or remove it first`);
    const job = ci === 'none' ? undefined : JOBS[ci];
    // Writes the configuration last, because `muster init` refuses to run where one exists.
    if (job !== undefined) writeNew(job.file, job.text(api, jobLine(api, reached, driven?.control)));
    writeNew(CONFIG_FILE, config);
    const next = [
      ...(api === 'device' && driven === undefined
        ? ['see which checks need control over the agent: muster explain drive']
        : []),
      ...(needsKey(api) ? [`set ${KEY}, here${job === undefined ? '' : ' and as a secret of your CI'}`] : []),
      `run: muster check ${api}${baseline ? ' --update-baseline' : ''}`,
      `commit ${baseline ? `${BASELINE} and ` : ''}what was written`,
    ];
    process.stdout.write(`\nNext: ${next.join('\n      ')}\n`);
    return 0;
  },
});

/** True also for a broken symbolic link, which `muster init` must not replace. */
const isThere = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) !== undefined;

function writeNew(file: string, text: string): void {
  try {
    if (isThere(file)) {
      process.stdout.write(`${file} is there already; add this to it:\n\n${text.replaceAll(/^(?=.)/gm, '    ')}\n`);
      return;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`${file}: cannot be written (${whyNot(error)})`);
  }
  process.stdout.write(`wrote ${file}\n`);
}

async function answers(asked: OptionsOf<typeof options>) {
  const given = REACHED.filter((name) => asked[name] !== undefined);
  if (given.length > 1) throw new UsageError(`${given.map((name) => `--${name}`).join(' and ')}: give one of them`);
  const missing = [
    ...(asked.api === undefined ? ['--api'] : []),
    ...(given.length === 0 ? [`--${REACHED.join(' or --')}`] : []),
    ...(asked.ci === undefined ? ['--ci'] : []),
  ];
  const { stdin: input, stdout: output } = process;
  const isTerminal = input.isTTY && output.isTTY;
  if (missing.length > 0 && !isTerminal)
    throw new UsageError(`${missing.join(', ')}: missing, and nobody can be asked without a terminal`);
  const lacksControl = isTerminal && asked.api === 'device' && asked.control === undefined;
  const reader = missing.length > 0 || lacksControl ? createInterface({ input, terminal: false }) : undefined;
  // Uses one iterator for all questions, because a new iterator drops lines that the user typed ahead.
  const lines = reader?.[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    output.write(`${question} `);
    const answer = await lines?.next();
    if (answer?.done !== false) throw new UsageError('not everything was answered; nothing is written');
    return answer.value.trim();
  };
  const choose = async <T extends string>(question: string, choices: readonly T[]): Promise<T> => {
    for (;;) {
      const answer = await ask(`${question} (${choices.join(', ')})`);
      const chosen = choices.find((choice) => choice === answer);
      if (chosen !== undefined) return chosen;
    }
  };
  try {
    const api = asked.api ?? (await choose('What do you have?', APIS));
    const [by] = given;
    const how = by ?? (await choose('How does Muster reach it?', ways(api)));
    if (!ways(api).includes(how)) throw new UsageError(`--${how}: check ${api} takes ${ways(api).join(' or ')}`);
    let value = asked[how] ?? '';
    while (value === '') value = await ask(HINTS[how]);
    const question = 'What drives it: the address of its control API, platform, or none?';
    const control = asked.control ?? (api === 'device' && reader !== undefined ? await ask(question) : 'none');
    if (api !== 'device' && control !== 'none') throw new UsageError('--control: only an agent on a device is driven');
    const driven = ['', 'none'].includes(control) ? undefined : { control, require: ['drive'] };
    const ci = asked.ci ?? (await choose('Which service runs your tests?', CI));
    const baseline =
      asked.baseline || (missing.length > 0 && (await choose('Excuse what fails today?', ['yes', 'no'])) === 'yes');
    return { api, reached: { [how]: value }, driven, ci, baseline };
  } finally {
    reader?.close();
  }
}

const ways = (api: Api): readonly (typeof REACHED)[number][] =>
  api === 'device' ? REACHED : api === 'platform' ? ['command', 'image', 'url'] : ['command', 'image'];

const HINTS: Readonly<Record<(typeof REACHED)[number], string>> = {
  command: 'The line that starts it, e.g. ./agent --socket {socket}:',
  image: 'Its image:',
  url: 'Its base URL:',
  socket: 'The path of its socket:',
};
