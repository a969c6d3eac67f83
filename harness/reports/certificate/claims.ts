/** What a certificate claims and does not claim, in words, and what a badge claims of a run. */
import { html, type Markup } from '../../common/html.ts';
import { printable } from '../../common/terminal.ts';
import type { Outcome, Report } from '../../runner/types.ts';
import { verdict } from '../verdict.ts';
import { requirementsName, type Statement } from './statement.ts';
import type { OwnSuites } from './verify.ts';

const API_NAMES = {
  device: 'the Device API',
  platform: 'the Platform API',
  system: 'the whole service',
  client: 'a client',
};

/** For a reader who was not there. */
export interface Claims {
  /** The verdict, and on how many checks it rests. */
  headline: string;
  /** What was tested. */
  about: string;
  claims: string[];
  not: string[];
}

/** The verdict of a certificate, as the run that wrote it and its readers call it. */
export function verdictOf({ result, muster: { profile } }: Statement['predicate']): string {
  const word = result === 'FAILED' ? 'NOT CONFORMANT' : 'CONFORMANT';
  return `${word}${profile === 'full' ? '' : ` in profile ${profile}`}`;
}

/** What a verified certificate says. With `own`, also whether its suites are those of this Muster. */
export function claimsOf({ subject: [subject], predicate }: Statement, own?: OwnSuites): Claims {
  const { muster, result } = predicate;
  const count = (...outcomes: Outcome[]): number =>
    muster.verdicts.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const musts = muster.verdicts.filter(({ level, outcome }) => level === 'MUST' && outcome === 'pass').length;
  const left = muster.verdicts.filter(({ outcome }) => outcome === 'not_applicable');
  const identity = identityIn(subject, muster);
  const sameSuites = own !== undefined && own.version === muster.version && own.suites.sha256 === muster.suites.sha256;
  return {
    headline: `${verdictOf(predicate)}: ${tally(predicate)}`,
    about: `${subject?.name} with ${API_NAMES[muster.api]}`,
    claims: [
      `On ${muster.started_at} the holder of the key ran muster ${muster.version}, profile ${muster.profile}, seed ${muster.seed}, requirements of ${muster.requirements_version}${requirementsDigest(predicate)}.`,
      result === 'FAILED'
        ? `${count('fail', 'known')} checks failed: ${predicate.failedTests.join(', ')}.`
        : `Every MUST that applied held (${musts} checks)${count('warn') === 0 ? '' : `; these SHOULDs did not: ${predicate.warnedTests.join(', ')}`}.`,
      ...identity.claims,
      ...(sameSuites ? ['The suites were the same as those of this muster.'] : []),
    ],
    not: [
      ...(muster.profile === 'full'
        ? []
        : [`Only the checks of profile ${muster.profile} were asked for; the suite has more.`]),
      ...(left.length === 0
        ? []
        : [
            `${left.length} checks did not apply, and nothing is said about them:`,
            ...reasons(left).map((line) => `  ${line}`),
          ]),
      ...identity.not,
      `It was reached by ${muster.transport} and driven by: ${muster.control}. Other ways to reach it were not tried.`,
      ...(sameSuites
        ? []
        : [
            `The suites had the digest sha256:${muster.suites.sha256} (${muster.suites.form}); they were not compared with those of this muster.`,
          ]),
      'It does not prove the absence of faults: properties were tried on samples drawn from the seed.',
      'It says nothing about security, performance, or any other version of what was tested.',
    ],
  };
}

/** What is shown of what was tested, and what the reader has to take the signer's word for. */
function identityIn(
  subject: Statement['subject'][number] | undefined,
  { digest_of: of, transport, executable, digest_missing: missing, artifact }: Statement['predicate']['muster'],
): Pick<Claims, 'claims' | 'not'> {
  const digest = `sha256:${subject?.digest.sha256}`;
  const named = artifact === undefined ? undefined : `sha256:${artifact.digest.sha256}`;
  const claims: string[] = [];
  const not: string[] = [];
  if (of === 'executable') {
    claims.push(`Muster executed the file ${executable}, which had the digest ${digest} before the run and after it.`);
    not.push(`What ${executable} loads or starts was not measured.`);
  } else if (of === 'image' || (of === undefined && transport === 'image')) {
    claims.push(`Muster ran the image with the digest ${digest}.`);
  } else if (subject?.annotations?.declared === true) {
    claims.push('What was tested is known by what the signer says of it only.');
    not.push('Nothing shows which build was tested: the signer declared what it is.');
  } else {
    claims.push('What was tested is known by what the signer says of it only.');
    not.push(
      `The signer says that what was tested has the digest ${digest}; this certificate is of a Muster that did not measure it.`,
    );
  }
  if (missing !== undefined) not.push(`What the command ran has no digest: ${missing}.`);
  if (artifact !== undefined && (named !== digest || of === 'artifact'))
    not.push(`The signer names a file ${artifact.name} with the digest ${named}; nothing shows that it is what ran.`);
  return { claims, not };
}

/** ` (sha256:…)`, when the certificate has it. */
function requirementsDigest({ configuration, muster }: Statement['predicate']): string {
  const name = requirementsName(muster.api, muster.requirements_version);
  const digest = configuration.find((entry) => entry.name === name)?.digest.sha256;
  return digest === undefined ? '' : ` (sha256:${digest})`;
}

function tally({ failedTests, muster: { verdicts } }: Statement['predicate']): string {
  const undecided = verdicts.filter(({ outcome }) => outcome === 'not_applicable').length;
  const all = verdicts.length;
  const decided =
    failedTests.length > 0
      ? `${failedTests.length} of ${all} checks failed`
      : `${all - undecided} of ${all} checks decided it`;
  return `${decided}${undecided === 0 ? '' : `, ${undecided} could not be decided`}`;
}

function reasons(verdicts: Statement['predicate']['muster']['verdicts']): string[] {
  const groups = Map.groupBy(verdicts, ({ reason }) => reason ?? '');
  return [...groups].map(([reason, members]) => `${reason}: ${members.map(({ id }) => id).join(', ')}`);
}

const TONES = {
  CONFORMANT: '#1a7f4b',
  'NO FAILURE FOUND': '#5b7f1a',
  INCOMPLETE: '#9a6200',
  INTERRUPTED: '#9a6200',
  'NOT CONFORMANT': '#c3292b',
};
const WORDS = {
  CONFORMANT: 'conformant',
  'NO FAILURE FOUND': 'partly checked',
  INCOMPLETE: 'incomplete',
  INTERRUPTED: 'interrupted',
  'NOT CONFORMANT': 'not conformant',
};
const HEIGHT = 20;

/** The badge of a run as an SVG document, for a README. It claims no more than the run showed. */
export function badge(report: Report): string {
  const { word, meaning } = verdict(report);
  const left = `muster ${report.api}`;
  const profile = report.profile === 'full' ? '' : ` (${report.profile})`;
  const right = `${WORDS[word]}${profile} ${report.requirements_version}`;
  const [first, second] = [widthOf(left), widthOf(right)];
  const title = printable(`${left}: ${right} (${meaning})`);
  const label = (text: string, from: number, wide: number): Markup =>
    html`<text x="${from + wide / 2}" y="14" textLength="${wide - 12}">${text}</text>`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${first + second}" height="${HEIGHT}" role="img" aria-label="${title}">
<title>${title}</title>
<clipPath id="r"><rect width="${first + second}" height="${HEIGHT}" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${first}" height="${HEIGHT}" fill="#3b4048"/><rect x="${first}" width="${second}" height="${HEIGHT}" fill="${TONES[word]}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${label(left, 0, first)}${label(right, first, second)}</g>
</svg>
`.markup;
}

/** By the average width of a letter; `textLength` makes it exact. */
const widthOf = (text: string): number => Math.round(text.length * 6.6) + 12;
