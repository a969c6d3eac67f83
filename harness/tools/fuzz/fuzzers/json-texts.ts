/** JSON as inputs: texts of the shapes of JSONTestSuite (valid, invalid and implementation-defined), made by a grammar and not copied. */
import fc from 'fast-check';
import { anyBytes, damaged, damageWith, utf8 } from '../bytes.ts';

const numbers = [
  ...['0', '-0', '1', '-1', '1.5', '1E+2', '1e-400', '1e400', '-1e400', '123456789012345678901234567890', '0.1e1'],
  ...['9007199254740993', '-9223372036854775808', '1e5', '100000000000', '-'],
  ...[
    '+1',
    '01',
    '-01',
    '1.',
    '.5',
    '-.5',
    '1e',
    '1e+',
    '1eE2',
    '0x1F',
    '1_000',
    'NaN',
    '-NaN',
    'Infinity',
    '-Infinity',
  ],
  ...['1 000', '2.e3', '0e', '\uff11', '0b1', '1n'],
];
const strings = [
  ...[
    '""',
    '"a"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\/\\b\\f\\n\\r\\t\\\\"',
    '"\u2028"',
  ],
  ...[
    '"\\x41"',
    '"\\u12"',
    '"\\u12G4"',
    '"\\"',
    '"',
    "'a'",
    '"a\tb"',
    '"a\nb"',
    '"\u0000"',
    '"\ufeff"',
    '"\\a"',
    '"😀"',
    '"\\u"',
  ],
  ...['"__proto__"', '"constructor"', '"../../../etc/passwd"', '"%00"', '"a\u202eb"', '"\\u001b[2J"'],
];
const structures = [
  ...[
    '',
    ' ',
    '[',
    ']',
    '{',
    '}',
    '[]',
    '{}',
    '[,]',
    '[1,]',
    '[1,,2]',
    '[,1]',
    '[1 2]',
    '{"a"}',
    '{"a":}',
    '{:1}',
    '{a:1}',
  ],
  ...[
    '{"a":1,}',
    '{"a":1,,"b":2}',
    '{"a" "b"}',
    '{"a":1}}',
    '[1]]',
    '[]x',
    '{}{}',
    '[1,2}',
    '{1:1}',
    '{"a":1 "b":2}',
    '{null:1}',
  ],
  ...[
    '{"a":1,"a":2}',
    '{"":0}',
    'nul',
    'true',
    'True',
    'false',
    'null',
    'null,',
    '[nul]',
    '/**/1',
    '1//',
    '#1',
    '<null>',
    '*',
  ],
  ...['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"__proto__":null}'],
  ...[
    '\u2060',
    '\ufeff{}',
    '\ufeff',
    '[\u000b1]',
    '[\u00a01]',
    '\f[]',
    '{"\\u0061":1,"a":2}',
    '{"toString":1,"valueOf":1}',
  ],
];
const raw = [
  '\u00ff',
  '\u00fe\u00ff',
  '"\u00c0\u00af"',
  '"\u00ed\u00a0\u0080"',
  '[\u00e5]',
  '"\u00f4\u00bf\u00bf\u00bf"',
  '"\u0080"',
];

const deep = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"":', '[[],'), fc.integer({ min: 1, max: 20_000 }), fc.boolean())
  .map(([opening, depth, closed]) => {
    const closing = [...opening]
      .reverse()
      .map((sign) => (sign === '[' ? ']' : sign === '{' ? '}' : ''))
      .join('');
    return opening.repeat(depth) + (closed ? `1${closing.repeat(depth)}` : '');
  });
const space = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n');

const { value } = fc.letrec<{ value: string; members: string }>((tie) => ({
  members: fc
    .array(
      fc.tuple(
        fc.oneof(
          fc.constantFrom(...strings.slice(0, 4), '"__proto__"', '"id"'),
          fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text)),
        ),
        space,
        tie('value'),
      ),
      { maxLength: 4 },
    )
    .map((all) => `{${all.map(([name, gap, one]) => `${name}${gap}:${gap}${one}`).join(',')}}`),
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(...numbers, ...strings, ...structures).map(utf8),
    fc.constantFrom('1', '"a"', 'true', 'null', '[]', '{}'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([gap, all]) => `[${gap}${all.join(`,${gap}`)}]`),
    tie('members').map(utf8),
  ),
}));

const utf16 = (text: string, low: boolean): string => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return (low ? bytes : bytes.swap16()).toString('latin1');
};

/** A JSON value as text, rarely a right one; a string of bytes. */
export const jsonValue: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: value },
  { weight: 1, arbitrary: deep },
);

/** The text of a whole document: of such a value, or of one that is damaged or encoded in another way. */
export const jsonText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: jsonValue },
  { weight: 2, arbitrary: fc.constantFrom(...raw) },
  { weight: 1, arbitrary: fc.tuple(value, fc.boolean()).map(([text, low]) => utf16(text, low)) },
  { weight: 1, arbitrary: anyBytes(20) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(value, fc.array(damageWith([',', ':', '"', '\\', '[', '}', '\u0000']), { minLength: 1, maxLength: 3 }))
      .map(([text, damages]) => damaged(text, damages)),
  },
);
