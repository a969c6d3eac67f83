/** For "did you mean …?": the word of `known` that is closest to `text`, if any is close enough. `*` in `text` stands for anything. */
export function nearest(text: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A pattern fits more words, so it has to be closer.
  let least = text.includes('*') ? 2 : Math.max(2, Math.floor(text.length / 3));
  for (const candidate of known) {
    const distance = editDistance(text, candidate);
    if (distance <= least && (best === undefined || distance < least)) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const any = left[i - 1] === '*';
    const next = [(row[0] ?? 0) + (any ? 0 : 1)];
    for (let j = 1; j <= right.length; j += 1) {
      if (any) {
        next.push(Math.min(row[j] ?? 0, next[j - 1] ?? 0));
        continue;
      }
      const substitution = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
