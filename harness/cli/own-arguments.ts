/** This command's own arguments, as a report may repeat them: without secrets, however short. */

/** Options that take a secret, and the variable that may hold it instead. */
const SECRETS: Record<string, string> = {
  '--token': 'MUSTER_TOKEN',
  '--api-key': 'MUSTER_API_KEY',
  '--limited-key': 'MUSTER_LIMITED_KEY',
};
const MASK = '***';

/** For the report: secrets masked. */
export const withoutSecrets = (words: readonly string[]): string[] => replaced(words, () => MASK);

/** Those of a report for another run: what was masked is left to the environment. */
export function forAnotherRun(words: readonly string[]): string[] {
  return words.filter((word, at) => {
    const [name = '', value] = word.split('=', 2);
    if (name in SECRETS) return (value ?? words[at + 1]) !== MASK;
    return !(word === MASK && (words[at - 1] ?? '') in SECRETS);
  });
}

/** As a line for a shell. */
export const commandLine = (words: readonly string[]): string =>
  ['muster', ...replaced(words.map(shellWord), (name) => `"$${SECRETS[name]}"`)].join(' ');

function replaced(words: readonly string[], by: (name: string) => string): string[] {
  return words.map((word, at) => {
    const before = words[at - 1] ?? '';
    if (before in SECRETS) return by(before);
    const [name = ''] = word.split('=', 1);
    return word.includes('=') && name in SECRETS ? `${name}=${by(name)}` : word;
  });
}

const shellWord = (word: string): string =>
  /^[\w./:=,@%+*-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
