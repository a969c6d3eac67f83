import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { idsFrom, tokensFrom } from './fleet-devices.ts';
import { useFolder } from './testing/muster.ts';

const at = useFolder();
const pemOf = ({ privateKey }: { privateKey: KeyObject }): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const rsa = (): string => pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }));
const [pem, other] = [rsa(), rsa()];
writeFileSync(at('robot.pem'), pem);
writeFileSync(at('ec.pem'), pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })));

let files = 0;
const fileWith = (text: string): string => {
  files += 1;
  const file = at(`devices-${files}`);
  writeFileSync(file, text);
  return file;
};
const json = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

it.each([
  [
    'a token a line',
    '# two\n\ntok_1 # of the first\ntok_2\n',
    [
      { line: 3, token: 'tok_1' },
      { line: 4, token: 'tok_2' },
    ],
  ],
  ['CSV', '\uFEFFid,token\r\ndvc_1,tok_1\r\n# no more\r\n', [{ line: 2, token: 'tok_1' }]],
  ['CSV of tokens alone', 'Token\ntok_1', [{ line: 2, token: 'tok_1' }]],
  [
    'keys in the file and beside it',
    `"id","key"\ndvc_1,"${other}"\ndvc_2,robot.pem\n`,
    [
      { line: 2, key: other },
      { line: 2 + other.split('\n').length, key: pem },
    ],
  ],
  [
    'JSON lines',
    `# two\n${json({ id: 'a', key: other }, { token: 't' })}`,
    [
      { line: 2, key: other },
      { line: 3, token: 't' },
    ],
  ],
  ['a key for a token', json({ token: 't', key: 'robot.pem' }), [{ line: 1, token: 't', key: pem }]],
])('robots have what a file gives them: %s', (_, text, devices) => {
  expect(tokensFrom(fileWith(text), devices.length)).toEqual(devices);
});

it.each([
  ['lines', 'dvc_1\ndvc_2 # the second\n'],
  ['CSV', 'token,id\nsecret,dvc_1\n,"dvc_2"\n'],
  ['JSON lines', json({ id: 'dvc_1', key: 'no such file' }, { id: 'dvc_2' })],
])('the same forms name devices: %s', (_, text) => {
  expect(idsFrom(fileWith(text))).toEqual(['dvc_1', 'dvc_2']);
});

const COLUMNS = 'accepted: id, token, key';
it.each([
  ['id,tokn\ndvc_1,s3cret\n', `:1: unknown column 'tokn'; ${COLUMNS}`],
  [json({ id: 'a', tokn: 's3cret' }), `:1: unknown column 'tokn'; ${COLUMNS}`],
  ['dvc_1,s3cret\n', ':1: has several fields, and no known column; accepted: one a line, CSV whose first line names'],
  ['id,token\ndvc_1,s3cret,x\n', ':2: has 3 fields, and the header line 2'],
  ['id,token\ndvc_1,\n', ':2: has no token and no key'],
  ['id,token\ndvc_1,"s3cret\n', ':2: has a quote that does not fit'],
  ['id,token\ndvc_1,s3"cret\n', ':2: has a quote that does not fit'],
  ['id,key\ndvc_1,s3cret\n', ':2: has a key that cannot be read (ENOENT: no such file or directory); accepted: an RSA'],
  ['id,key\ndvc_1,ec.pem\n', ':2: has a key that is no RSA private key'],
  ['id,key\ndvc_1,robot.pem\ndvc_2,robot.pem\n', ':3: has the key of line 2; accepted: a key of its own'],
  ['id,token\ndvc_1,s3cret x\n', ":2: 'token' has blanks"],
  ['{"token": "s3cret"\n', ':1: is no JSON object'],
  ['{"token": 7}\n', ":1: 'token' is no string; accepted: a token"],
  ['id,token\n', 'has no line with a token'],
])('refuses %j, and shows no secret', (text, words) => {
  const file = fileWith(text);
  const refused = () => tokensFrom(file, 1);
  expect(refused).toThrow(`${basename(file)}${words.startsWith(':') ? '' : ' '}${words}`);
  expect(refused).not.toThrow(/s3cret/);
});
