/** Decides from recorded runs which agents, platforms and clients work together. */
import { EXIT } from '../../common/usage.ts';
import { DEVICE_JOBS, PLATFORM_JOBS } from '../../contract/client.ts';
import type { Api } from '../../runner/types.ts';
import { plural } from '../findings.ts';
import type { Answer, Evidence, Subject } from './evidence.ts';

export const ROLES = ['agent', 'platform', 'client'] as const;
export type Role = (typeof ROLES)[number];

const API_OF = { agent: 'device', platform: 'platform', client: 'client' } as const satisfies Record<Role, Api>;

/** Selected implementations by role: `NAME`, `NAME@VERSION` or `sha256:…`. Default: the newest version of each name. */
export type Wanted = { readonly [R in Role]?: readonly string[] | undefined };

export interface Piece extends Subject {
  role: Role;
}

export interface Pair {
  pieces: readonly [Piece, Piece];
  answer: Answer;
  why: string;
}

export interface Fit {
  pairs: readonly Pair[];
  answer: Answer;
  code: number;
  meaning: string;
}

export function fitOf(evidence: readonly Evidence[], wanted: Wanted): Fit {
  const pieces = { agent: [], platform: [], client: [] } as Record<Role, Piece[]>;
  for (const role of ROLES) pieces[role] = piecesOf(role, evidence, wanted[role]);
  const { agent: agents, platform: platforms, client: clients } = pieces;
  const pairs = [
    ...agents.flatMap((agent) => platforms.map((platform) => together(agent, platform, evidence))),
    ...[...agents, ...platforms].flatMap((server) => clients.flatMap((client) => byContract(server, client, evidence))),
  ];
  const of = (some: number, what: string): string => `${what}: ${some} of ${plural(pairs.length, 'pair')}`;
  const count = (answer: Answer): number => pairs.filter((pair) => pair.answer === answer).length;
  if (count('no') > 0) return { pairs, answer: 'no', code: EXIT.nonconformant, meaning: of(count('no'), 'do not fit') };
  if (count('yes') === pairs.length && pairs.length > 0)
    return { pairs, answer: 'yes', code: EXIT.conformant, meaning: of(pairs.length, 'fit') };
  const meaning = pairs.length === 0 ? 'there is no pair' : of(count('unknown'), 'not decided');
  return { pairs, answer: 'unknown', code: EXIT.incomplete, meaning };
}

function piecesOf(role: Role, evidence: readonly Evidence[], selectors: readonly string[] | undefined): Piece[] {
  const newestFirst = evidence.flatMap((each) => subjectIn(role, each) ?? []).toReversed();
  const names = [...new Set(newestFirst.map(({ name }) => name))].sort();
  return (selectors ?? names).map((selector) => {
    const [, name = '', version] = /^(.+?)(?:@([^@]+))?$/s.exec(selector) ?? [];
    const found = newestFirst.find((subject) =>
      selector.startsWith('sha256:')
        ? subject.digest?.startsWith(selector)
        : subject.name === name && (version === undefined || subject.version === version),
    );
    return { role, ...(found ?? { name, ...(version !== undefined && { version }) }) };
  });
}

function subjectIn(role: Role, { api, subject, platform }: Evidence): Subject | undefined {
  if (api === API_OF[role] || (api === 'system' && role === 'agent')) return subject;
  return role === 'platform' ? platform : undefined;
}

/** True for the same implementation; compares digests, which tell builds apart, only if both subjects have a digest. */
const isSame = (one: Subject, other: Subject | undefined): boolean =>
  one.name === other?.name &&
  one.version === other.version &&
  (one.digest ?? other.digest) === (other.digest ?? one.digest);

/** Newest run; among runs that began at the same time, the worst run counts. */
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
  const pieces = [agent, platform] as const;
  if (run === undefined) return { pieces, answer: 'unknown', why: 'never tested together: muster check system' };
  return { pieces, answer: run.answer, why: `tested together: ${said(run)}` };
}

/**
 * Decides by separate runs: server and client fit if each keeps to the specification. Empty if the client does not use
 * the server's API.
 */
function byContract(server: Piece, client: Piece, evidence: readonly Evidence[]): Pair | [] {
  const pieces = [server, client] as const;
  const [ofServer, ofClient] = pieces.map((piece) =>
    newest(evidence.filter((each) => each.api === API_OF[piece.role] && isSame(piece, each.subject))),
  );
  const jobs: readonly string[] = server.role === 'agent' ? DEVICE_JOBS : PLATFORM_JOBS;
  if (ofClient?.capabilities.some((each) => jobs.includes(each)) === false) return [];
  const wrong = [ofServer, ofClient].filter((each) => each?.answer === 'no');
  if (wrong.length > 0) return { pieces, answer: 'no', why: wrong.map((each) => each && said(each)).join('; ') };
  if (ofServer === undefined || ofClient === undefined) {
    const untested = ofServer === undefined ? server : client;
    return { pieces, answer: 'unknown', why: `${untested.role} ${untested.name} was never tested alone` };
  }
  const why = `${said(ofServer)}; ${said(ofClient)}`;
  const versions = [ofServer.apiVersion, ofClient.apiVersion];
  if (server.role === 'platform' && !versions.includes(undefined) && versions[0] !== versions[1])
    return { pieces, answer: 'unknown', why: `tested in two versions, ${versions.join(' and ')}: ${why}` };
  return { pieces, answer: ofServer.answer === 'yes' ? ofClient.answer : ofServer.answer, why };
}
