import { createHash } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { defined } from '../common/defined.ts';
import { orElse } from '../common/lenient.ts';
import { UsageError } from '../common/usage.ts';
import { readInput, whyNot } from '../common/user-files.ts';
import type { TargetDescription } from '../runner/types.ts';
import { identityFields, mergedFields, type TargetFile, type TargetOptions } from './fields.ts';
import type { MeasuredImplementation } from './launch/started.ts';

const oneOf = (patterns: string): RegExp => new RegExp(`^(?:${patterns.trim().split(/\s+/).join('|')})$`);

/** Programs that run other programs; their digest does not identify the agent. */
const RUNNERS = oneOf(String.raw`
  (?:ba|da|z|k)?sh busybox env sudo su doas nice nohup setsid stdbuf time timeout taskset chroot unshare nsenter strace
  gdb valgrind systemd-run docker podman nerdctl kubectl node(?:js)? deno bun np[mx] pnpm yarn tsx python[\d.]* uv ruby
  perl php java dotnet go cargo make mono qemu-.*`);
const BUILT_IN = oneOf(String.raw`
  \. : ! \{ \[ alias bg builtin case cd command echo eval exit export false fg for function if printf pwd read set
  source test trap true ulimit umask unset until wait while`);

export function measureExecutable(
  line: string,
  cwd: string | undefined,
  env: Record<string, string | undefined>,
): MeasuredImplementation {
  const found = executableOf(line, cwd, env);
  if ('problem' in found) return { of: 'executable', problem: found.problem };
  const { file } = found;
  const name = basename(file);
  try {
    const digest = sha256(file);
    return {
      of: 'executable',
      name,
      digest,
      changed: () => {
        try {
          return sha256(file) === digest ? undefined : `${name} was changed during the run`;
        } catch (error) {
          return `${name} could not be read again after the run (${whyNot(error)})`;
        }
      },
    };
  } catch (error) {
    return { of: 'executable', problem: `${name} cannot be read (${whyNot(error)})` };
  }
}

/** `sha256:…` digest of a file. Throws Error for an unreadable file. */
export const sha256 = (file: string): string => `sha256:${createHash('sha256').update(readInput(file)).digest('hex')}`;

/** File that a shell line executes, or the reason why none is known; of a script, the script itself. */
export function executableOf(
  line: string,
  cwd: string = process.cwd(),
  env: Record<string, string | undefined> = process.env,
): { file: string } | { problem: string } {
  const words = wordsOf(line);
  if (words === undefined) return { problem: 'the command is more than one simple command' };
  let [word, ...rest] = words;
  while (word !== undefined && (/^[A-Za-z_]\w*=/.test(word) || word === 'exec')) {
    if (word.startsWith('PATH=')) return { problem: 'the command sets PATH' };
    [word, ...rest] = rest;
  }
  if (word === undefined || word === '' || BUILT_IN.test(word)) return { problem: 'the command executes no file' };
  if (RUNNERS.test(basename(word))) return { problem: `${basename(word)} runs another program` };
  if (/[$~*?]/.test(word)) return { problem: `the shell decides what ${word} is` };
  const places = word.includes('/')
    ? [word]
    : (env['PATH'] ?? '').split(':').map((folder) => join(folder || '.', word));
  const file = places.map((place) => resolve(cwd, place)).find(isExecutable);
  return file === undefined ? { problem: `no executable file ${word} was found` } : { file };
}

const isExecutable = (file: string): boolean =>
  orElse(() => {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  }, false);

const REDIRECTION = /\d*(?:>>?|<)(?:&\d)?/;
const WORD = /(?:[^\s'"\\;&|()<>`#]|(?<!^|\s)#|\\.|'[^']*'|"(?:[^"\\`$]|\\.|\$(?!\())*")+/;
const TOKEN = new RegExp(`(?<redirection>${REDIRECTION.source})|(?<word>${WORD.source})|[ \\t]+`, 'sy');

function wordsOf(line: string): string[] | undefined {
  const text = line.trim();
  const words: string[] = [];
  let isTarget = false;
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (found === null) return undefined;
    at = TOKEN.lastIndex;
    const { word, redirection } = found.groups ?? {};
    if (redirection !== undefined) isTarget = !redirection.includes('&');
    if (word === undefined) continue;
    if (!isTarget)
      words.push(
        word.replaceAll(
          /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs,
          (_, single?: string, double?: string, escaped?: string) =>
            single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
        ),
      );
    isTarget = false;
  }
  return words;
}

/** Throws UsageError for an unreadable artifact. */
export function identityOf(
  options: Pick<TargetOptions, 'name' | 'version' | 'artifact'>,
  file: Partial<TargetFile>,
  ran: MeasuredImplementation | undefined,
): Partial<TargetDescription> {
  const { name, version, artifact } = mergedFields(identityFields, options, file);
  const digest = digestOf(artifact);
  return {
    ...defined({ name, version }),
    ...(ran?.digest === undefined
      ? defined({ digest_missing: ran?.problem })
      : { digest: ran.digest, digest_of: ran.of, ...defined({ executable: ran.name }) }),
    ...(artifact === undefined || digest === undefined ? {} : { artifact: { name: basename(artifact), digest } }),
  };
}

export function concludeIdentity(description: TargetDescription, ran: MeasuredImplementation | undefined): void {
  const why = ran?.changed?.();
  if (why === undefined) return;
  delete description.digest;
  delete description.digest_of;
  description.digest_missing = why;
}

export function digestOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return sha256(file);
  } catch (error) {
    throw new UsageError(`artifact ${file}: cannot be read (${whyNot(error)})`);
  }
}
