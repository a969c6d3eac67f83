import type { KeyObject } from 'node:crypto';
import { writingTo } from '../../client/errors.ts';
import { defined } from '../../common/defined.ts';
import { html, type Markup } from '../../common/html.ts';
import { printable } from '../../common/terminal.ts';
import { quote, UsageError } from '../../common/usage.ts';
import { prepareFile, writeWhole } from '../../common/user-files.ts';
import { differenceInWords } from '../../runner/declarations.ts';
import { isHeld, requirementSet } from '../../runner/define.ts';
import { profilesOf } from '../../runner/plan.ts';
import type { Api, Outcome, Report, Suite } from '../../runner/types.ts';
import { lines, OUTCOME_WORDS, plural, SYMBOLS, sawInWords } from '../findings.ts';
import { conformantTo, type Verdict, verdict } from '../verdict.ts';
import { keyId, openEnvelope, parseSigned, Refused, readPrivateKey, sealEnvelope } from './envelope.ts';
import {
  DAY,
  declaredDigest,
  isOpen,
  type JudgedCheck,
  type Predicate,
  requirementsName,
  resultOf,
  type SignersWords,
  type Statement,
  statement,
  statementOf,
  suitesDigest,
  testsIn,
  whyTooFew,
} from './statement.ts';

type OwnSuites = ReturnType<typeof ownSuites>;

interface VerifyOptions {
  own?: OwnSuites;
  digest?: string;
  now?: Date;
  /** Maximum milliseconds since the run began. */
  maxAgeMs?: number;
  /** Oldest accepted requirement set (YYYY-MM-DD). */
  atLeast?: string;
}

export function ownSuites(version: string, suites: readonly Suite<never>[]) {
  const checksOf = (api: string) => suites.flatMap((suite) => (suite.api === api ? suite.checks : []));
  const dates = suites.flatMap((suite) => suite.requirementSets);
  return {
    version,
    suites: suitesDigest(),
    newestRequirements: dates.toSorted().at(-1) ?? '',
    checkIds: (api: string, profile: string, requirements: string) =>
      checksOf(api)
        .filter((check) => profilesOf(api as Api, check).includes(profile) && isHeld(check.requirement, requirements))
        .map((check) => check.id),
    requirementOf: (api: string, id: string) => checksOf(api).find((check) => check.id === id)?.requirement.id,
    requirementsDigest(api: string, date: string) {
      const suite = suites.find((each) => each.api === api);
      return suite?.requirementSets.includes(date) ? requirementSet(suite, date).digest : undefined;
    },
  };
}

/** `file`: text of the certificate. Throws Refused with the first problem. */
export function verifyCertificate(file: string, publicKey: KeyObject, options: VerifyOptions = {}): Statement {
  const content = parseSigned(openEnvelope(file, publicKey).toString('utf8'));
  if (!statement.is(content)) {
    const [problem] = statement.problems(content);
    throw new Refused(`signed, but not a certificate: ${problem?.path || '/'} ${problem?.message ?? ''}`);
  }
  consistent(content);
  complete(content);
  subject(content, options.digest);
  dated(content, options);
  if (options.own !== undefined) sameAsHere(content, options.own);
  return content;
}

function consistent({ predicate }: Statement): void {
  const { verdicts } = predicate.muster;
  if (new Set(verdicts.map(({ id }) => id)).size !== verdicts.length)
    throw new Refused('it has two verdicts on one check');
  const expected = testsIn(verdicts);
  for (const field of ['passedTests', 'warnedTests', 'failedTests'] as const)
    if (expected[field].join() !== predicate[field].join()) throw new Refused(`${field} is not what the verdicts say`);
  const result = resultOf(predicate);
  if (predicate.result !== result) throw new Refused(`the result is ${predicate.result}, the verdicts say ${result}`);
}

function complete({ predicate }: Statement): void {
  const { verdicts } = predicate.muster;
  const named = (isMeant: (verdict: JudgedCheck) => boolean): string[] => verdicts.filter(isMeant).map(({ id }) => id);
  const undecided = named(({ outcome }) => outcome === 'blocked' || outcome === 'fixed');
  if (undecided.length > 0) throw new Refused(`incomplete: ${undecided.join(', ')} undecided`);
  const silent = named((verdict) => isOpen(verdict) && !verdict.reason);
  if (silent.length > 0) throw new Refused(`incomplete: ${silent.join(', ')} left out without a reason`);
  if (verdicts.every(isOpen)) throw new Refused('no check decided anything');
}

function subject({ subject: [what], predicate: { muster } }: Statement, wanted: string | undefined): void {
  const digest = what?.digest.sha256;
  const named = muster.artifact?.digest.sha256;
  if (wanted !== undefined && ![digest, named].includes(wanted.replace(/^sha256:/, ''))) {
    throw new Refused(`it is about sha256:${digest}, not about ${wanted}`);
  }
  const declared = what?.annotations?.declared === true;
  const isMeasured = muster.digest_of === 'image' || muster.digest_of === 'executable';
  if (declared === isMeasured) throw new Refused('it calls a digest both measured and declared');
  if (muster.digest_of === 'artifact') {
    if (digest !== named) throw new Refused('the subject is not the artifact that it names');
  } else if (declared) {
    const { subject_name: name = '', subject_version: version = '' } = muster;
    if (declaredDigest(name, version) !== digest) throw new Refused('the declared subject does not fit its digest');
  }
}

/** Milliseconds by which clocks and time zones may differ: one day. */
const CLOCK_SLACK_MS = 86_400_000;

function dated({ predicate: { muster } }: Statement, { now = new Date(), maxAgeMs, atLeast }: VerifyOptions): void {
  const { started_at: started, requirements_version: date, valid_until: until } = muster;
  if (!DAY.test(date)) throw new Refused(`its requirements are of ${date}`);
  const began = Date.parse(started);
  if (began > now.getTime() + CLOCK_SLACK_MS)
    throw new Refused(`its run began at ${started}, which is to come by the clock of this machine`);
  if (began < Date.parse(date) - CLOCK_SLACK_MS)
    throw new Refused(`its run began at ${started}, before its requirements of ${date} were written`);
  // Accepts the last day of validity in every time zone.
  if (now.getTime() >= Date.parse(until) + 2 * CLOCK_SLACK_MS) throw new Refused(`it was valid until ${until}`);
  if (maxAgeMs !== undefined && now.getTime() - began > maxAgeMs)
    throw new Refused(`its run began at ${started}, longer ago than is accepted`);
  if (atLeast !== undefined && date < atLeast)
    throw new Refused(`its requirements are of ${date}, and those of ${atLeast} or later are asked for`);
}

function sameAsHere({ predicate }: Statement, own: OwnSuites): void {
  const { muster } = predicate;
  const { api, requirements_version: date } = muster;
  // All versions of Muster share the digests of requirement sets, because released sets never change.
  const named = requirementsDigest(predicate);
  const here = own.requirementsDigest(api, date);
  // Refuses an unknown set unless its date is later, because no version of Muster removes a requirement set.
  if (here === undefined && date <= own.newestRequirements) throw new Refused(`there are no requirements of ${date}`);
  if (named !== undefined && here !== undefined && here !== `sha256:${named}`)
    throw new Refused(`its requirements are not those of ${date}: sha256:${named}, here ${here}`);
  const isSameVersion = muster.version === own.version && muster.suites.form === own.suites.form;
  if (isSameVersion && muster.suites.sha256 !== own.suites.sha256) {
    throw new Refused(
      `it was made with other suites than those of muster ${own.version}: sha256:${muster.suites.sha256}`,
    );
  }
  const decided = new Set(muster.verdicts.map(({ id }) => id));
  const asked = here === undefined ? [] : own.checkIds(api, muster.profile, date);
  const missing = isSameVersion ? asked.filter((id) => !decided.has(id)) : [];
  if (missing.length > 0) throw new Refused(`incomplete: ${missing.join(', ')} missing`);
  // Compares requirements, because versions of Muster differ in checks, but not in the requirements of a set.
  const requirementOf = (id: string): string => own.requirementOf(api, id) ?? id;
  const ofProfile = muster.verdicts.filter(({ in_profile }) => in_profile === true);
  const shown = new Set(muster.verdicts.map(({ id }) => requirementOf(id)));
  const known = new Set(ofProfile.filter(({ outcome }) => outcome !== 'undecided').map(({ id }) => requirementOf(id)));
  const open = [
    ...[...new Set(ofProfile.map(({ id }) => requirementOf(id)))].filter((id) => !known.has(id)),
    ...[...new Set(asked.map(requirementOf))].filter((id) => !shown.has(id)),
  ];
  if (open.length > 0)
    throw new Refused(
      `incomplete: the profile ${muster.profile} asks for ${plural(open.length, 'requirement')} more: ${firstOf(open)}`,
    );
  // Without the set's checks, a full certificate is judged by all of its verdicts, whatever it says of its profile.
  const held = muster.profile === 'full' ? muster.verdicts : ofProfile;
  const due = [...asked, ...held.map(({ id }) => id)].map(requirementOf);
  const decisive = muster.verdicts.filter((verdict) => !isOpen(verdict)).map(({ id }) => requirementOf(id));
  const tooFew = whyTooFew(muster.profile, due, decisive);
  if (tooFew !== undefined) throw new Refused(tooFew);
}

const API_NAMES = {
  device: 'the Device API',
  platform: 'the Platform API',
  system: 'the whole service',
  client: 'a client',
};

export const verdictOf = ({ result, muster }: Predicate): string =>
  `${result === 'FAILED' ? 'NOT CONFORMANT' : 'CONFORMANT'}: ${conformantTo(muster)}`;

export const decisionsIn = ({ predicate }: Statement): string[] =>
  predicate.muster.verdicts
    .filter(({ in_profile }) => in_profile === true)
    .map((verdict) => {
      const saw = sawInWords(defined({ saw: verdict.saw }));
      const how = verdict.reason ?? (saw && `saw ${saw}`);
      const decided = OUTCOME_WORDS[verdict.outcome] + (how === undefined ? '' : ` (${how})`);
      return `${SYMBOLS[verdict.outcome]} ${verdict.id}: ${decided}`;
    });

export type Claims = ReturnType<typeof claimsOf>;

export function claimsOf({ subject: [subject], predicate }: Statement, own?: OwnSuites) {
  const { muster, result, failedTests } = predicate;
  const { requirements_version: date, valid_until: until, signer, verdicts } = muster;
  const named = (wanted: Outcome): string[] => verdicts.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);
  const due = verdicts.filter(({ in_profile }) => in_profile === true);
  const musts = due.filter(({ level, outcome }) => level === 'MUST' && outcome === 'pass').length;
  const shoulds = named('warn').length === 0 ? '' : `; these SHOULDs did not: ${predicate.warnedTests.join(', ')}`;
  const left = verdicts.filter(isOpen);
  const reasons = Map.groupBy(left, ({ reason }) => reason ?? '');
  const identity = identityIn(subject, muster);
  const digest = requirementsDigest(predicate);
  const foreign = [...new Set(subject?.name)].filter((character) => !/[ -~]/.test(character));
  const isNewer = own !== undefined && date > own.newestRequirements;
  const sameSuites = own !== undefined && own.version === muster.version && own.suites.sha256 === muster.suites.sha256;
  const way = { image: '--image IMAGE', executable: "--command 'PROGRAM …'", artifact: '…', name: '…' };
  return {
    headline: `${verdictOf(predicate)} · ${tally(predicate)}`,
    about: `${subject?.name} with ${API_NAMES[muster.api]}, valid until ${until}`,
    claims: lines(
      `On ${muster.started_at} the holder of the key ran muster ${muster.version}, profile ${muster.profile}, ` +
        `seed ${muster.seed}, requirements of ${date}${digest === undefined ? '' : ` (sha256:${digest})`}.`,
      result === 'FAILED'
        ? `${plural(failedTests.length, 'check')} failed: ${failedTests.join(', ')}.`
        : `Every MUST of the profile was decided and held (${plural(musts, 'check')})${shoulds}.`,
      named('flaky').length > 0 &&
        `Of these fail now and then, and may have passed in this run: ${named('flaky').join(', ')}.`,
      (muster.declarations ?? []).map((one) => `It is not what it says of itself: ${differenceInWords(one)}.`),
      identity.claims,
      sameSuites && 'The suites were the same as those of this muster.',
      signer !== undefined && `The holder of the key goes by: ${signer}.`,
    ),
    not: lines(
      muster.profile !== 'full' && `Only the profile ${muster.profile} was asked of it; full asks for more.`,
      signer === undefined && 'It names no signer, and no place where the key is published.',
      left.length > 0 && `${plural(left.length, 'check')} did not apply or saw too little; nothing is said there:`,
      [...reasons].map(([reason, members]) => `  ${reason}: ${members.map(({ id }) => id).join(', ')}`),
      identity.not,
      foreign.length > 0 && `Characters of its name may look like others: ${foreign.map(codePointIn).join(', ')}.`,
      `It was reached by ${muster.transport} and driven by: ${muster.control}. Other ways to reach it were not tried.`,
      // A kill of a process that Muster started needs no proof.
      muster.capabilities.includes('restart') &&
        muster.control !== 'process' &&
        'Where its control carried out a kill (SIGKILL), that it was one is the word of that control.',
      own !== undefined && newerRequirements(muster, own),
      isNewer && `This muster does not know the requirements of ${date}, so they were not compared.`,
      !sameSuites &&
        `The suites had the digest sha256:${muster.suites.sha256} (${muster.suites.form}); they were not ` +
          'compared with those of this muster.',
      'Who holds the key, and when the run was, are words of the signer: nobody else has attested them. Ask for the ' +
        'key elsewhere than where the certificate comes from.',
      `It does not prove the absence of faults: properties were tried on ${samplesIn(verdicts)}, drawn from the seed.`,
      'It says nothing about security, performance, or any other version of what was tested.',
      `The holder of the key ran it: that shows what was run, not what is sold. To know, run it on your own copy: ` +
        `muster check ${muster.api} ${way[muster.digest_of]} ${optionsOf(muster)}`,
    ),
  };
}

function optionsOf(muster: Predicate['muster']): string {
  const { api, profile, requirements_version: requirements, seed, runs, api_version: version, dialect } = muster;
  const options = {
    profile,
    requirements,
    seed,
    runs,
    'api-version': api === 'platform' || api === 'system' ? version : undefined,
    dialect: dialect === 'spec' ? undefined : dialect,
  };
  const given = Object.entries(defined(options));
  return given.map(([name, value]) => `--${name} ${quote(String(value))}`).join(' ');
}

function samplesIn(verdicts: readonly JudgedCheck[]): string {
  const inputs = verdicts.reduce((sum, { saw }) => sum + (saw?.['inputs'] ?? 0), 0);
  return inputs === 0 ? 'samples' : plural(inputs, 'sample');
}

const codePointIn = (character: string): string =>
  `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')} ${character}`;

function newerRequirements({ api, profile, requirements_version: date }: Predicate['muster'], own: OwnSuites): string {
  const newest = own.newestRequirements;
  if (newest <= date) return `No later requirements than those of ${date} were known to this muster.`;
  const asked = new Set(own.checkIds(api, profile, date));
  const more = own.checkIds(api, profile, newest).filter((id) => !asked.has(id));
  const what = more.length === 0 ? 'nothing more' : `${plural(more.length, 'check')} more (${firstOf(more)})`;
  return `The requirements of ${newest} are later, and ask ${what} of the profile ${profile}.`;
}

const FEW = 5;
const firstOf = (ids: readonly string[]): string => ids.slice(0, FEW).join(', ') + (ids.length > FEW ? ', …' : '');

function identityIn(
  subject: Statement['subject'][number] | undefined,
  { digest_of: of, executable, digest_missing: missing, artifact }: Predicate['muster'],
) {
  const digest = `sha256:${subject?.digest.sha256}`;
  const named = artifact === undefined ? undefined : `sha256:${artifact.digest.sha256}`;
  const claims: string[] = [];
  const not: string[] = [];
  if (of === 'executable') {
    claims.push(`Muster executed the file ${executable}, which had the digest ${digest} before the run and after it.`);
    not.push(`What ${executable} loads or starts was not measured.`);
  } else if (of === 'image') {
    claims.push(`Muster ran the image with the digest ${digest}.`);
  } else {
    claims.push('What was tested is known by what the signer says of it only.');
    not.push('Nothing shows which build was tested: the signer declared what it is.');
  }
  if (missing !== undefined) not.push(`What the command ran has no digest: ${missing}.`);
  if (artifact !== undefined && (named !== digest || of === 'artifact'))
    not.push(`The signer names a file ${artifact.name} with the digest ${named}; nothing shows that it is what ran.`);
  return { claims, not };
}

function requirementsDigest({ configuration, muster }: Predicate): string | undefined {
  const name = requirementsName(muster.api, muster.requirements_version);
  return configuration.find((entry) => entry.name === name)?.digest.sha256;
}

function tally({ failedTests, muster: { verdicts } }: Predicate): string {
  const undecided = verdicts.filter(isOpen).length;
  const failed = failedTests.length;
  const count = failed > 0 ? failed : verdicts.length - undecided;
  const decided = `${count} of ${verdicts.length} checks ${failed > 0 ? 'failed' : 'decided it'}`;
  return undecided === 0 ? decided : `${decided}, ${undecided} could not be decided`;
}

const BADGES: Record<Verdict['kind'], [words: string, colour: string]> = {
  CONFORMANT: ['conformant', '#1a7f4b'],
  'NO FAILURE FOUND': ['partly checked', '#5b7f1a'],
  INCOMPLETE: ['incomplete', '#9a6200'],
  INTERRUPTED: ['interrupted', '#9a6200'],
  'NOT CONFORMANT': ['not conformant', '#c3292b'],
};
const HEIGHT = 20;

export function badge(report: Report): string {
  const { kind, meaning } = verdict(report);
  const { name, executable, artifact, version } = report.target;
  const product = name ?? executable ?? artifact?.name ?? `muster ${report.api}`;
  const left = printable([product, version].filter((part) => part !== undefined).join(' '));
  const [words, colour] = BADGES[kind];
  const right = `${words}: ${conformantTo(report)}, tested ${report.started_at.slice(0, 10)}`;
  const [first, second] = [widthOf(left), widthOf(right)];
  const title = printable(`${left}: ${right} (${meaning})`);
  const label = (text: string, from: number, wide: number): Markup =>
    html`<text x="${from + wide / 2}" y="14" textLength="${wide - 12}">${text}</text>`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${first + second}" height="${HEIGHT}"
role="img" aria-label="${title}">
<title>${title}</title>
<clipPath id="r"><rect width="${first + second}" height="${HEIGHT}" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${first}" height="${HEIGHT}" fill="#3b4048"/>
<rect x="${first}" width="${second}" height="${HEIGHT}" fill="${colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif"
font-size="11">${label(left, 0, first)}${label(right, first, second)}</g>
</svg>
`.markup;
}

/** Estimate in pixels; the attribute `textLength` fits the text into the width. */
const widthOf = (text: string): number => Math.round(text.length * 6.6) + 12;

export interface Issuer {
  /** Throws Refused for an incomplete run, and then writes no file. Throws LimitReached, e.g. on a full disk. */
  issue(report: Report): { file: string; keyId: string; result: string; verdict: string };
}

/** Throws UsageError before the run if the key or the file is unusable. */
export function certificateIssuer(file: string, keyFile: string | undefined, words: SignersWords = {}): Issuer {
  if (keyFile === undefined)
    throw new UsageError('--certificate needs --key FILE, a private key (`muster keygen FILE` makes one)');
  const key = readPrivateKey(keyFile);
  const place = prepareFile(`--certificate ${file}`, file);
  return {
    issue(report) {
      const statement = statementOf(report, suitesDigest(), words);
      const sealed = sealEnvelope(Buffer.from(JSON.stringify(statement)), key);
      writingTo(`--certificate: ${place}`, () => writeWhole(place, sealed));
      const { predicate } = statement;
      return { file: place, keyId: keyId(key), result: predicate.result, verdict: verdictOf(predicate) };
    },
  };
}
