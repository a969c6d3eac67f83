/** Plain English in documents, help and requirements (CONTRIBUTING.md, "Conventions"). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSuites } from './catalogue.ts';
import { DOCUMENTS, NAMED_COMMANDS, ROOT } from './testing/documents.ts';

const INSTEAD: readonly (readonly [said: RegExp, instead: string])[] = [
  [/\b(utili[sz]e[sd]?|leverag(e[sd]?|ing))\b/i, 'use'],
  [/\bin order to\b/i, 'to'],
  [/\b(prior to|previous to)\b/i, 'before'],
  [/\bsubsequent(ly)?\b/i, 'later'],
  [/\b(please|kindly|simply|basically|obviously|of course)\b/i, 'nothing'],
  [/\bit (should be|is important to) note[d]?\b/i, 'nothing'],
  [/\bdue to the fact\b/i, 'because'],
  [/\b(whilst|amongst|thereof|therein|hereby|aforementioned|upon)\b/i, 'the word that people say'],
  [/\b(and\/or|he\/she|s\/he)\b/i, 'one of both'],
  [/\bfunctionality\b/i, 'what it does'],
  [/\b(test bench|SUT|system under test)\b/, 'target'],
  [/\b(known issue|suppression|allow-?list)s?\b/i, 'baseline'],
  [/\b(assertion|test case)s? of (a|the) suite\b/i, 'check'],
  [/\b(\w+) \1\b/i, 'it once'],
];
const TWICE = /\b(that that|had had|is is|n n|x x)\b/i;
const MOST_WORDS = 45;

function sentencesOf(text: string): string[] {
  const prose = text
    .replaceAll(/```[\s\S]*?```|<!--[\s\S]*?-->/g, '\n\n')
    .replaceAll(/^\s*\|.*$/gm, '\n')
    .replaceAll(/^#.*$/gm, '\n\n')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'CODE');
  return prose
    .split(/\n\s*\n| [·→] |\n\s*(?=[-*] |\d+\. )|(?<=[.!?:;])\s+/)
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '');
}

const mistakesIn = (text: string): string[] =>
  sentencesOf(text).flatMap((sentence) => {
    const wrong = INSTEAD.flatMap(([said, instead]) => {
      const [found] = said.exec(sentence) ?? [];
      return found === undefined || TWICE.test(found) ? [] : [`"${found}" (say ${instead}): ${sentence}`];
    });
    const words = sentence.split(' ').length;
    return words > MOST_WORDS ? [...wrong, `${words} words in a sentence: ${sentence}`] : wrong;
  });

it('the prose rules find wordy phrases, repeated words and long sentences', () => {
  const text = 'In order to check the the agent, please use a target.';
  expect(mistakesIn(text).map((mistake) => mistake.split(':')[0])).toEqual([
    '"In order to" (say to)',
    '"please" (say nothing)',
    '"the the" (say it once)',
  ]);
  expect(mistakesIn(`${'one word '.repeat(25)}.`)).toHaveLength(1);
  expect(mistakesIn('Run `in order to` and\n\n```sh\nplease\n```\n')).toEqual([]);
});

it.each(DOCUMENTS)('%s is in plain English', (file) => {
  expect(mistakesIn(readFileSync(join(ROOT, file), 'utf8'))).toEqual([]);
});

it.each(NAMED_COMMANDS)('the help of %s is in plain English', async (_name, entry) => {
  const { options, examples = [], epilogue = '' } = await entry.load();
  const described = Object.values(options).map(({ describe }) => describe);
  const texts = [entry.describe, ...described, ...examples.map(([, meaning]) => meaning), epilogue];
  expect(texts.flatMap(mistakesIn)).toEqual([]);
});

it('requirements are in plain English', async () => {
  const texts = (await loadSuites()).flatMap(({ checks }) => checks.map(({ requirement }) => requirement.text));
  expect([...new Set(texts)].flatMap(mistakesIn)).toEqual([]);
});
