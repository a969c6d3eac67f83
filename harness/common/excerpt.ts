export type Telling = ReadonlyMap<string, number>;

const WORD = /[\p{L}\p{N}_]+(?:[-.:][\p{L}\p{N}_]+)*/gu;
const WEIGHTS = { actual: 8, expected: 2, repeated: 1 / 4, inBoth: 1 / 8 };
const INTEGER = /^\d{1,15}$/;

export function telling({ expected = '', actual = '' }: { expected?: string; actual?: string }): Telling {
  const weights = new Map<string, number>();
  const texts = { actual, expected };
  const seen = new Set(wordsOf(actual).map(({ word }) => word));
  const due = new Set(wordsOf(expected).map(({ word }) => word));
  for (const kind of ['actual', 'expected'] as const) {
    const other = kind === 'expected' ? seen : seen.isSubsetOf(due) ? new Set<string>() : due;
    const repeated = texts[kind].indexOf('{');
    for (const { word, at } of wordsOf(texts[kind])) {
      const inValue = repeated !== -1 && at > repeated ? WEIGHTS.repeated : 1;
      const weight = WEIGHTS[kind] * inValue * (other.has(word) ? WEIGHTS.inBoth : 1);
      weights.set(word, Math.max(weight, weights.get(word) ?? 0));
    }
  }
  return weights;
}

/** Cuts to `limit` characters around the words most specific to a finding; `…` marks the cuts. */
export function excerpt(text: string, limit: number, about: Telling = new Map()): string {
  if (text.length <= limit) return text;
  const [first, last] = mostTelling(text, limit / 2, about) ?? [0, 0];
  const margin = limit / 8;
  const middle = last + margin <= limit ? 0 : Math.round((first + last - limit) / 2);
  const start = Math.min(middle, text.length - limit);
  const from = startNear(text, start, Math.min(first, start + margin));
  const to = from + limit - (isHalf(text, from + limit) ? 1 : 0);
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
}

export function tellingMost<T>(items: readonly T[], textOf: (item: T) => string, most: number, about: Telling): T[] {
  if (items.length <= most) return [...items];
  const words = items.map((item) => new Set(wordsOf(textOf(item), (word) => about.has(word)).map(({ word }) => word)));
  const share = (word: string): number => 1 / words.filter((those) => those.has(word)).length;
  const shares = new Map([...about].map(([word, weight]) => [word, weight * share(word)]));
  const score = (at: number): number =>
    at === items.length - 1
      ? Number.POSITIVE_INFINITY
      : [...shares].reduce((sum, [word, weight]) => sum + (words[at]?.has(word) === true ? weight : 0), 0);
  const scores = items.map((_, at) => score(at));
  const ranked = [...items.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || b - a);
  const shown = new Set(ranked.slice(0, most));
  return items.filter((_, at) => shown.has(at));
}

interface Word {
  word: string;
  at: number;
}

/** Skips indices of JSON pointers such as `/data/57/id`, because no body contains them. */
function wordsOf(text: string, isWanted: (word: string) => boolean = () => true): Word[] {
  const words: Word[] = [];
  for (const { 0: word, index: at } of text.matchAll(WORD))
    if (isWanted(word) && (text[at - 1] !== '/' || !INTEGER.test(word))) words.push({ word, at });
  return words;
}

export function mostTelling(text: string, span: number, about: Telling): [first: number, last: number] | undefined {
  const ids = [...about.keys()].filter((word) => INTEGER.test(word));
  const neighbours = ids.flatMap((id) => [-1, 1].map((step): [string, string] => [String(Number(id) + step), id]));
  const beside = new Map(neighbours);
  const known = wordsOf(text, (word) => about.has(word) || beside.has(word));
  const scores = scoresOf(about, beside, known);
  const least = [...scores.values()].reduce((a, b) => Math.max(a, b), 0) / LEAST_SHARE;
  const found = known.filter(({ word }) => (scores.get(word) ?? 0) > least);
  const within = new Map<string, number>();
  let best: { score: number; at: [number, number] } | undefined;
  let score = 0;
  let left = 0;
  for (const { word, at } of found) {
    const times = within.get(word) ?? 0;
    within.set(word, times + 1);
    if (times === 0) score += scores.get(word) ?? 0;
    for (let first = found[left]; first !== undefined && at + word.length - first.at > span; first = found[left]) {
      const rest = (within.get(first.word) ?? 1) - 1;
      within.set(first.word, rest);
      if (rest === 0) score -= scores.get(first.word) ?? 0;
      left += 1;
    }
    const first = found[left];
    if (first !== undefined && score > (best?.score ?? 0) + ROUNDING)
      best = { score, at: [first.at, at + word.length] };
  }
  return best?.at;
}

const LEAST_SHARE = 50;
const ROUNDING = 1e-9;

function scoresOf(about: Telling, beside: ReadonlyMap<string, string>, known: readonly Word[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { word } of known) counts.set(word, (counts.get(word) ?? 0) + 1);
  const scores = new Map<string, number>();
  for (const [word, count] of counts) {
    const missing = beside.get(word) ?? '';
    const weight = counts.has(missing) ? 0 : (about.get(missing) ?? 0) / 2;
    scores.set(word, Math.max(about.get(word) ?? 0, weight) / count);
  }
  return scores;
}

function startNear(text: string, at: number, latest: number): number {
  if (at === 0) return 0;
  const line = text.indexOf('\n', at) + 1;
  if (line > 0 && line <= latest) return line;
  return at + (isHalf(text, at) ? 1 : 0);
}

const isHalf = (text: string, at: number): boolean => /[\udc00-\udfff]/.test(text[at] ?? '');
