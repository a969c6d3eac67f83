/**
 * Writes a POSIX shell script that repeats the control calls and requests of a check in order.
 * The script reads event and deployment ids from control answers, because ids differ between runs.
 */
import type { DriveStep, Step } from '../client/recorder.ts';
import { LONGEST_LINE } from '../client/request-forms.ts';

/** Largest distance between a cursor and a known event id at which the script computes the cursor from that id. */
const NEAR = 100_000n;

interface Known {
  variable: string;
  field: string;
  step: number;
  value: string;
}

/**
 * Undefined without a control call, or if the shell line of a step is missing, a comment, too long, or more than one
 * line.
 */
export function scriptOf(steps: readonly Step[] | undefined): string | undefined {
  if (steps === undefined || !steps.some((step) => 'drive' in step)) return undefined;
  const used = new Set<Known>();
  const known: Known[] = [];
  const bodies: { lines: string[]; known: Known[] }[] = [];
  const shown: string[] = [];
  for (const [index, step] of steps.entries()) {
    const line = 'drive' in step ? step.drive.line : step.exchange.curl;
    if (line === undefined || line.startsWith('#') || line.length > LONGEST_LINE || line.includes('\n'))
      return undefined;
    const number = index + 1;
    const withIds = withVariables(line, known, used);
    if ('drive' in step) {
      const named = namedBy(step.drive, number);
      const remark = `echo '# ${number}. ${commented(step.drive.what)}'`;
      bodies.push({ lines: [remark, `${withIds} >"$out/${number}"; cat "$out/${number}"; echo`], known: named });
      known.push(...named);
    } else {
      const { method, url, curl } = step.exchange;
      const { pathname = '', search = '' } = URL.parse(url) ?? {};
      const remark = withVariables(`'# ${number}. ${commented(`${method} ${pathname}${search}`)}'`, known, used);
      const isStream = curl.startsWith('curl -sN');
      const inBackground = `${withIds.replace(/--max-time \d+/, '--max-time 10')} >"$out/${number}" &`;
      const lines = isStream
        ? [`echo ${remark}: opens a stream`, inBackground, `opened ${number}`]
        : [`echo ${remark}`, `${withIds}; echo`];
      bodies.push({ lines, known: [] });
      if (isStream) shown.push(`echo '# ${number}. came on that stream:'; cat "$out/${number}"`);
    }
  }
  const besides = (index: number): boolean => {
    const next = steps[index + 1];
    return next !== undefined && 'drive' in next && next.drive.beside === true;
  };
  return [
    '#!/bin/sh',
    'out=$(mktemp -d); trap \'rm -rf "$out"\' EXIT',
    ...(used.size === 0 ? [] : [VALUE]),
    ...(shown.length > 0 ? [OPENED] : []),
    ...bodies.flatMap(({ lines, known: named }, index) => [
      ...(besides(index) ? lines.filter((line) => !line.startsWith('opened ')) : lines),
      ...named
        .filter((one) => used.has(one))
        .map(({ variable, field, step }) => `${variable}=$(value ${step} ${field})`),
    ]),
    ...(shown.length > 0 ? ['wait', ...shown] : []),
    '',
  ].join('\n');
}

const VALUE = String.raw`value() { sed -n 's/.*"'"$2"'": *"\{0,1\}\([A-Za-z0-9_-]*\).*/\1/p' "$out/$1" | tail -n 1; }`;

/** Waits for the first bytes of a stream, up to 5 s, or 250 s where `sleep` accepts only whole seconds. */
const OPENED =
  'opened() { n=0; until [ -s "$out/$1" ] || [ $n -ge 250 ]; ' +
  'do n=$((n + 1)); sleep 0.02 2>/dev/null || sleep 1; done; }';

function commented(text: string): string {
  const plain = text.replaceAll(/[^ -~]|'/g, ' ');
  return plain.slice(0, 100).trimEnd();
}

const namedBy = ({ ids = {} }: DriveStep, step: number): Known[] =>
  Object.entries(ids).flatMap(([field, value]) =>
    /^[A-Za-z0-9_-]+$/.test(value)
      ? [{ variable: `${field.replace(/_?id$/, '') || 'deployment'}${step}`, field, step, value }]
      : [],
  );

const CURSOR = /(?<=[?&]after=|last-event-id: )\d+/g;

function withVariables(line: string, known: readonly Known[], used: Set<Known>): string {
  const ids = known.filter(({ field }) => field === 'id');
  const withCursors = replaceAll(line, CURSOR, (text) => {
    const cursor = BigInt(text);
    const far = ({ value }: Known): bigint => size(cursor - BigInt(value));
    const nearest = known
      .filter((one) => one.field !== 'id' && far(one) <= NEAR)
      .reduce<Known | undefined>((best, one) => (best === undefined || far(one) <= far(best) ? one : best), undefined);
    if (nearest === undefined) return undefined;
    const by = cursor - BigInt(nearest.value);
    used.add(nearest);
    return by === 0n ? `$${nearest.variable}` : `$((${nearest.variable} ${by < 0n ? '-' : '+'} ${size(by)}))`;
  });
  return ids.reduce((text, one) => {
    const place = new RegExp(`(?<![\\w-])${one.value}(?![\\w-])`, 'g');
    return replaceAll(text, place, () => {
      used.add(one);
      return `$${one.variable}`;
    });
  }, withCursors);
}

const size = (value: bigint): bigint => (value < 0n ? -value : value);

function replaceAll(line: string, place: RegExp, expansion: (text: string) => string | undefined): string {
  let replaced = '';
  let from = 0;
  for (const match of line.matchAll(place)) {
    const [text] = match;
    const value = expansion(text);
    if (value === undefined) continue;
    replaced += line.slice(from, match.index);
    replaced += isQuoted(line, match.index) ? `'"${value}"'` : `"${value}"`;
    from = match.index + text.length;
  }
  return replaced + line.slice(from);
}

function isQuoted(line: string, at: number): boolean {
  let quoted = false;
  let double = false;
  for (let index = 0; index < at; index += 1) {
    const character = line[index];
    if (character === '\\' && !quoted) index += 1;
    else if (character === "'" && !double) quoted = !quoted;
    else if (character === '"' && !quoted) double = !double;
  }
  return quoted;
}
