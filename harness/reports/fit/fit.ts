/** Decides from recorded runs which agents, platforms and clients work together, and renders the answer. */
import { defined } from '../../common/defined.ts';
import { html, reportPage } from '../../common/html.ts';
import { type Paint, printable, wrap } from '../../common/terminal.ts';
import { EXIT, nearest, UsageError } from '../../common/usage.ts';
import { CLIENT_JOBS, DEVICE_JOBS, PLATFORM_JOBS } from '../../contract/client.ts';
import type { Api, Report } from '../../runner/types.ts';
import { verdictOf } from '../certificate/certificate.ts';
import type { Statement } from '../certificate/statement.ts';
import { recordedIn } from '../compare/entries.ts';
import { COLOURS, plural, SYMBOLS } from '../findings.ts';
import { verdict } from '../verdict.ts';

/** `unknown`: undecided, expired or missing evidence. */
type FitAnswer = 'yes' | 'no' | 'unknown';

interface Subject {
  name: string;
  version?: string;
  digest?: string;
}

interface Evidence {
  file: string;
  api: Api;
  startedAt: string;
  subject: Subject;
  platform?: Subject;
  capabilities: readonly string[];
  answer: FitAnswer;
  words: string;
}

const UNNAMED = '';

/**
 * Reads reports and certificates, the oldest run first. `today`: YYYY-MM-DD in UTC. Throws UsageError that names an
 * unreadable file, or if no file names a subject.
 */
export function readEvidence(paths: readonly string[], today: string): Evidence[] {
  const found = paths
    .flatMap(recordedIn)
    .map((each) =>
      'report' in each ? ofReport(each.report, each.file) : ofCertificate(each.certified, each.file, today),
    );
  if (found.every(({ subject }) => subject.name === UNNAMED))
    throw new UsageError(`${paths.join(', ')}: no report and no certificate names what was tested (--name)`);
  return found.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

function ofReport(report: Report, file: string): Evidence {
  const { api, target, started_at: startedAt } = report;
  const digest = target.digest ?? target.artifact?.digest;
  const name = target.name ?? target.executable ?? UNNAMED;
  const { kind, word, meaning } = verdict(report);
  return {
    file,
    api,
    startedAt,
    words: kind === 'CONFORMANT' ? word : `${word}, as ${meaning}`,
    capabilities: target.capabilities,
    subject: { name, ...defined({ version: target.version, digest }) },
    ...defined({ platform: target.platform }),
    answer: kind === 'CONFORMANT' ? 'yes' : kind === 'NOT CONFORMANT' ? 'no' : 'unknown',
  };
}

function ofCertificate({ subject: [what], predicate }: Statement, file: string, today: string): Evidence {
  const { muster, result } = predicate;
  const name = muster.subject_name ?? muster.executable ?? UNNAMED;
  const { valid_until: until = today } = muster;
  const hasEnded = until < today;
  const digest = muster.artifact?.digest.sha256 ?? (muster.digest_of === 'name' ? undefined : what?.digest.sha256);
  return {
    file,
    api: muster.api,
    startedAt: muster.started_at,
    capabilities: muster.capabilities,
    subject: { name, ...defined({ version: muster.subject_version, digest: digest && `sha256:${digest}` }) },
    ...defined({ platform: muster.platform }),
    answer: result === 'FAILED' ? 'no' : hasEnded ? 'unknown' : 'yes',
    words: `${verdictOf(predicate)}${hasEnded ? `, which ended on ${until}` : ''}`,
  };
}

const API_OF = { agent: 'device', platform: 'platform', client: 'client' } as const satisfies Record<string, Api>;
type Role = keyof typeof API_OF;

/** Selectors `NAME`, `NAME@VERSION` or `sha256:…` by role. Default: the newest version of each name. */
export type Wanted = { readonly [R in Role]?: readonly string[] | undefined };

interface Piece extends Subject {
  role: Role;
  /** Reason why no run is known. */
  missing?: string;
}

interface Pair {
  pieces: readonly [Piece, Piece];
  answer: FitAnswer;
  why: string;
}

export interface Fit {
  pairs: readonly Pair[];
  answer: FitAnswer;
  code: number;
  meaning: string;
  /** Runs that decide nothing, because they name no subject. */
  unnamed: readonly string[];
}

export function fitOf(all: readonly Evidence[], wanted: Wanted): Fit {
  const isNamed = ({ subject }: Evidence): boolean => subject.name !== UNNAMED;
  return { ...decided(all.filter(isNamed), wanted), unnamed: all.filter((each) => !isNamed(each)).map(said) };
}

function decided(evidence: readonly Evidence[], wanted: Wanted): Omit<Fit, 'unnamed'> {
  const piecesIn = (role: Role): Piece[] => piecesOf(role, evidence, wanted[role]);
  const agents = piecesIn('agent');
  const platforms = piecesIn('platform');
  const clients = piecesIn('client');
  const pairs = [
    ...agents.flatMap((agent) => platforms.map((platform) => together(agent, platform, evidence))),
    ...[...agents, ...platforms].flatMap((server) => clients.flatMap((client) => byContract(server, client, evidence))),
  ].map((pair) => ({ ...pair, why: pair.pieces.find(({ missing }) => missing)?.missing ?? pair.why }));
  const of = (some: number, what: string): string => `${what}: ${some} of ${plural(pairs.length, 'pair')}`;
  const count = (answer: FitAnswer): number => pairs.filter((pair) => pair.answer === answer).length;
  if (count('no') > 0) return { pairs, answer: 'no', code: EXIT.nonconformant, meaning: of(count('no'), 'do not fit') };
  if (count('yes') === pairs.length && pairs.length > 0)
    return { pairs, answer: 'yes', code: EXIT.conformant, meaning: of(pairs.length, 'fit') };
  const meaning = pairs.length === 0 ? 'there is no pair' : of(count('unknown'), 'not decided');
  return { pairs, answer: 'unknown', code: EXIT.incomplete, meaning };
}

function piecesOf(role: Role, evidence: readonly Evidence[], selectors: readonly string[] | undefined): Piece[] {
  const found = evidence.flatMap(({ api, subject, platform }) => {
    if (api === API_OF[role] || (api === 'system' && role === 'agent')) return subject;
    return (role === 'platform' ? platform : undefined) ?? [];
  });
  const newestFirst = found.toReversed();
  const names = [...new Set(newestFirst.map(({ name }) => name))].sort();
  return (selectors ?? names).map((selector) => {
    const [, name = '', version] = /^(.+?)(?:@([^@]+))?$/s.exec(selector) ?? [];
    const fitting = newestFirst.find((subject) =>
      selector.startsWith('sha256:')
        ? subject.digest?.startsWith(selector)
        : subject.name === name && (version === undefined || subject.version === version),
    );
    if (fitting !== undefined) return { role, ...fitting };
    const versions = found.flatMap((subject) => (subject.name === name ? (subject.version ?? []) : []));
    const near = versions.length > 0 ? `${name}@${versions.at(-1)}` : nearest(name, names);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    return { role, name, ...defined({ version }), missing: `no file names ${selector}${meant}` };
  });
}

/** Compares digests, which tell builds apart, only if both subjects have a digest. */
const isSame = (one: Subject, other: Subject | undefined): boolean =>
  one.name === other?.name &&
  one.version === other.version &&
  (one.digest ?? other.digest) === (other.digest ?? one.digest);

/** Newest run of sorted evidence; of several that began at the same time, the worst. */
function newest(evidence: readonly Evidence[]): Evidence | undefined {
  const last = evidence.at(-1)?.startedAt;
  const together = evidence.filter(({ startedAt }) => startedAt === last);
  return ['no', 'unknown', 'yes'].flatMap((answer) => together.filter((each) => each.answer === answer))[0];
}

const said = ({ words, file }: Evidence): string => `${words} (${file})`;

/** Decides by joint runs only, because agent and platform speak a protocol outside the specification. */
function together(agent: Piece, platform: Piece, evidence: readonly Evidence[]): Pair {
  const runs = evidence.filter(
    (each) => each.api === 'system' && isSame(agent, each.subject) && isSame(platform, each.platform),
  );
  const run = newest(runs);
  const why = run === undefined ? 'never tested together: muster check system' : `tested together: ${said(run)}`;
  return { pieces: [agent, platform], answer: run?.answer ?? 'unknown', why };
}

/**
 * Server and client fit if each keeps to the specification in its own runs. Empty if the client does not use the
 * server's API.
 */
function byContract(server: Piece, client: Piece, evidence: readonly Evidence[]): Pair | [] {
  const pieces = [server, client] as const;
  const [ofServer, ofClient] = pieces.map((piece) =>
    newest(evidence.filter((each) => each.api === API_OF[piece.role] && isSame(piece, each.subject))),
  );
  const jobs: readonly string[] = server.role === 'agent' ? DEVICE_JOBS : PLATFORM_JOBS;
  const used = CLIENT_JOBS.filter((job) => ofClient?.capabilities.includes(job));
  if (used.length > 0 && !used.some((each) => jobs.includes(each))) return [];
  const wrong = [ofServer, ofClient].filter((each) => each?.answer === 'no');
  if (wrong.length > 0) return { pieces, answer: 'no', why: wrong.map((each) => each && said(each)).join('; ') };
  if (ofServer === undefined || ofClient === undefined) {
    const untested = ofServer === undefined ? server : client;
    return { pieces, answer: 'unknown', why: `${untested.role} ${untested.name} was never tested alone` };
  }
  const why = `${said(ofServer)}; ${said(ofClient)}`;
  return { pieces, answer: ofServer.answer === 'yes' ? ofClient.answer : ofServer.answer, why };
}

const OUTCOME_OF = { yes: 'pass', no: 'fail', unknown: 'undecided' } as const satisfies Record<FitAnswer, string>;
const WORDS: Record<FitAnswer, string> = { yes: 'FITS', no: 'DOES NOT FIT', unknown: 'NOT KNOWN TO FIT' };

function pairOf({ pieces }: Pair): string {
  const labels = pieces.map(({ role, name, version, digest }) => {
    const build = version ?? digest?.slice(0, 'sha256:'.length + 12);
    return printable([role, name, build].filter((part) => part !== undefined).join(' '));
  });
  return labels.join(' with ');
}

const leftOut = (unnamed: readonly string[]): string =>
  unnamed.length === 0 ? '' : `left out, as no name (--name) says what was tested: ${unnamed.join('; ')}`;

export function fitText({ pairs, answer, code, meaning, unnamed }: Fit, paint: Paint, columns: number): string {
  const lines = pairs.flatMap((pair) => {
    const outcome = OUTCOME_OF[pair.answer];
    const why = wrap(printable(pair.why), columns - 4).map((line) => paint('dim', `    ${line}`));
    return [`${paint(COLOURS[outcome], SYMBOLS[outcome])} ${pairOf(pair)}`, ...why];
  });
  const word = paint(['bold', COLOURS[OUTCOME_OF[answer]]], WORDS[answer]);
  const without = wrap(printable(leftOut(unnamed)), columns).map((line) => paint('yellow', line));
  return `${[...lines, ...without, '', word, paint('dim', `exit ${code}: ${meaning}`)].join('\n')}\n`;
}

export function fitPage({ pairs, answer, code, meaning, unnamed }: Fit, version: string): string {
  const rows = pairs.map((pair) => {
    const outcome = OUTCOME_OF[pair.answer];
    return html`<tr><th scope="row">${pairOf(pair)}</th>
<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${WORDS[pair.answer].toLowerCase()}</td>
<td>${pair.why}</td></tr>`;
  });
  const main = html`<div class="banner ${OUTCOME_OF[answer]}"><h1>${WORDS[answer]}</h1>
<p>Exit ${code}: ${meaning}.</p><p>${printable(leftOut(unnamed))}</p></div>
<div class="wide" tabindex="0" role="region" aria-label="Pairs"><table>
<thead><tr><th scope="col">Pair</th><th scope="col">Answer</th><th scope="col">Decided by</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<footer>muster ${version}</footer>`;
  return reportPage(`${WORDS[answer]}: ${meaning}`, main, {
    style: new URL('../compare/comparison-page.css', import.meta.url),
  });
}

export const fitJson = ({ code, ...fit }: Fit) => ({ ...fit, exit_code: code });
