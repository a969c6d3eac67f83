import { expect, it } from 'vitest';
import { TrafficRedactor } from './traffic-redactor.ts';

const KEY = `k7Q2/xW9"z Bf4v`;
const mask = new TrafficRedactor([KEY, 'dev']);

it.each([
  [`{"name":"robot ${JSON.stringify(KEY).slice(1, -1)}"}`, false],
  [`{"data":[{"content":"{\\"wifi_password\\":\\"s3cr3t`, true],
  [`{"access_token": "s3cr3t\\"s3cr3t", "name": "cut`, true],
  ['Authorization: Bearer s3cr3t', false],
  ['eyJhbGciOiJIUzI1NiJ9.s3cr3t.s3cr3t', false],
])('masks %s', (text, cut) => {
  const shown = mask.body(text, cut);
  expect(shown).not.toMatch(/s3cr3t|k7Q2/);
  expect(shown).toContain('***');
});

const LONG = 300_000;
it.each([
  ['a query without =', () => mask.url(`/x?${'a'.repeat(LONG)}`)],
  ['names that never end', () => mask.url(`/x?${'token'.repeat(LONG / 5)}!=`)],
  ['beginnings of tokens', () => mask.text('eyJ-'.repeat(LONG / 4))],
  ['dots', () => mask.text('eyJa.'.repeat(LONG / 5))],
  ['backslashes', () => mask.body('\\'.repeat(LONG), true)],
  ['backslashes in a member', () => mask.body(`\\"token\\":\\"${'\\'.repeat(LONG)}`, true)],
  ['members', () => mask.body('\\"token\\":\\"'.repeat(LONG / 13), true)],
  ['quotes', () => mask.body('"'.repeat(LONG), true)],
  ...['[', '{a: ', '- ', '? ', 'data: {\n\n', 'a: &a *a\n', '<a b="', '<a>', '<!--', '<![CDATA[', '\n'].map(
    (piece): [string, () => string] => [
      `${piece} in documents`,
      () => mask.body(piece.repeat(60_000 / piece.length), false),
    ],
  ),
  // Several texts, because a longer one is not parsed.
  ...Object.entries<string[]>({
    'tags without an end': Array(30).fill(`<${'a'.repeat(60_000)}`),
    'attributes without a value': Array(30).fill(`<a ${'x'.repeat(60_000)}>`),
    aliases: Array(3).fill(`pwd: &a x\n${'pwd: *a\n'.repeat(7000)}`),
  }).map(([name, texts]): [string, () => string] => [name, () => mask.body(JSON.stringify(texts), false)]),
  ['a name without an end', () => mask.body(`"${'token'.repeat(LONG / 5)}`, true)],
  ['blanks', () => mask.text(`Bearer${' '.repeat(LONG)}`)],
  ...Object.entries({
    ...{ names: 'token:', 'quoted names': '"token":', elements: '<token>', paths: 'tokens/' },
    ...{ parts: 'a: name="token"\r\n', braces: 'auth:{', 'single quotes': "pwd:'", pairs: 'pwd,\\n', items: '{a,pwd:' },
    ...{ options: '--token ', quoted: '--token "', listed: '"--token",', heredocs: 'pwd=<<A\\n', ends: 'pwd=<<A\n A' },
    ...{ lines: '"token"\ndata: ' },
    ...{ keys: '-----BEGIN PRIVATE KEY-----', addresses: 'x://a', users: '://a:', values: 'pwd"\\\\,value' },
  }).map(([name, piece]): [string, () => string] => [name, () => mask.text(piece.repeat(LONG / piece.length))]),
])('reads %s in linear time', (_, work) => {
  const began = performance.now();
  work();
  expect(performance.now() - began).toBeLessThan(20_000);
});

it('masks secrets in a URL or a header', () => {
  expect(mask.url(`/x?name=${encodeURIComponent(KEY)}&limit=3`)).toBe('/x?name=***&limit=3');
  expect(mask.url('/x?api_key=s3cr3t&name=dev')).toBe('/x?api_key=***&name=dev');
  expect(mask.url('/x?a=1?&token=a=b&c&dev=2')).toBe('/x?a=1?&token=***&c&dev=2');
  expect(mask.header('X-API-Key', 'dev')).toBe('***');
  expect(mask.header('x-auth-token', 'dev')).toBe('***');
  expect(mask.header('x-other', `${KEY} dev`)).toBe('*** dev');
});

it('keeps paths and words that equal a key', () => {
  expect(mask.url('/beta/devices/dvc_1?order_by=dev')).toBe('/beta/devices/dvc_1?order_by=dev');
  expect(mask.text('PUT /devices answered 404: the device dev is unknown')).toContain('/devices answered 404: the dev');
  expect(mask.body('{"api_key":"dev","name":"dev"}', false)).toBe('{"api_key":"***","name":"dev"}');
});

it.each([
  '{"id":9223372036854775807,"a":1e3,"b":1.0,"a":-0,"text":"\\u00e9\\/"}',
  '  [1e3, 1.0,\n 1234567890123456789 ]',
  '{"key":"lidar-360-front"}',
])('keeps the numbers and spaces of %s', (text) => expect(mask.body(text, false)).toBe(text));

it('masks secret members, and keeps the rest as written', () => {
  expect(mask.body('{"id": 9223372036854775807, "token": {"a":[1]}, "b":1.0}', false)).toBe(
    '{"id": 9223372036854775807, "token": "***", "b":1.0}',
  );
  expect(mask.body('{"key":"mk_0123456789abcdef","access_key":"x","n":1e3}', false)).toBe(
    '{"key":"***","access_key":"***","n":1e3}',
  );
});

const PEM = '-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----\n';
const YAML = 'a: 1\nwifi:\n  password: s3cr3t, s3cr3t"s3cr3t\n  psk: |\n    s3cr3t\n    s3cr3t\n  ssid: lab\nz: 2\n';
const XML = '<a><password>s3cr3t</password><entry key="db_secret">s3cr3t</entry><user pwd="s3cr3t"/><z>2</z></a>';
const MULTIPART =
  '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\ns3cr3t\r\ns3cr3t\r\n' +
  '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nz: 2\r\n--b--';
const inJson = (data: string): string => JSON.stringify({ content: { data }, z: 2 });

it.each<[string, () => string]>([
  ['a private key', () => mask.body(JSON.stringify({ pem: PEM, z: 2 }), false)],
  ['a private key in a text', () => mask.body(`${PEM}z: 2`, false)],
  ['YAML', () => mask.body(YAML, false)],
  ['YAML in JSON', () => mask.body(inJson(YAML), false)],
  ['YAML in JSON that was cut', () => mask.body(inJson('z: 2\npsk: s3cr3t\n').slice(0, -10), true)],
  ['YAML of one line', () => mask.body('{user: a, pwd: s3cr3t, z: 2}', false)],
  ['YAML with a block', () => mask.body('credentials:\n  user: s3cr3t\n\n  x: s3cr3t\nz: 2', false)],
  ['a list in YAML', () => mask.body('- tokens:\n  - s3cr3t\n  - s3cr3t\n- z: 2', false)],
  ['environment in YAML', () => mask.body('- name: DB_PASSWORD\n  value: s3cr3t\n- z: 2', false)],
  [
    'JSON with comments',
    () => mask.body(inJson('{ // x\n "pwd": "s3cr3t",\n "auth": {"a": "s3cr3t"}, "z": 2}'), false),
  ],
  ['TOML', () => mask.body('[a]\npassword = "s3cr3t s3cr3t"\nz = 2\n', false)],
  ['single quotes', () => mask.body("password: 's3cr3t''s3cr3t'\nz: 2", false)],
  ['XML', () => mask.body(XML, false)],
  ['XML in JSON', () => mask.body(inJson(XML), false)],
  ['XML that was cut', () => mask.body('<z>2</z><password>s3cr3t', true)],
  ['a multipart form', () => mask.body(MULTIPART, false)],
  ['members', () => mask.body('{"name":"psk","value":"s3cr3t","credentials":{"a":["s3cr3t"]},"z":2}', false)],
  ['a value before its name', () => mask.body('{"value":"s3cr3t","name":"psk","z":2}', false)],
  ['a list that was cut', () => mask.body('["--z", "2", "--password", "s3cr3t", "--a', true)],
  ['a line in JSON that was cut', () => mask.body('{"z": 2, "a": "x --password \\"s3cr3t\\" --b', true)],
  ...['passphrase', 'psk', 'pwd', 'credentials', 'auth', 'session_id', 'signature', 'wifiPassword'].flatMap(
    (name): [string, () => string][] => [
      [name, () => mask.body(`{"${name}":"s3cr3t","z":2}`, false)],
      [`${name} in what was cut`, () => mask.body(`{"z":2,"${name}":"s3cr3t`, true)],
    ],
  ),
  ['a number in what was cut', () => mask.body('{"z":2,"device_token":53,"a":{', true).replace('53', 's3cr3t')],
  ['an escaped name', () => mask.body('{"p\\u0061ssword":"s3cr3t","z":2}', false)],
  ['an escaped name in a string', () => mask.body(JSON.stringify({ a: '{"p\\u0061ssword":"s3cr3t","z":2}' }), false)],
  ...['clientSecretValue', 'api_key_hash', 'client-key-data', 'sshPrivateKey'].flatMap(
    (name): [string, () => string][] => [
      [name, () => mask.body(`{"${name}":"s3cr3t","z":2}`, false)],
      [`${name} in YAML`, () => mask.body(`users:\n- user:\n    ${name}: s3cr3t\nz: 2`, false)],
    ],
  ),
  ['a pair in a list', () => mask.body('[["password", "s3cr3t"], {"z":2}]', false)],
  ['CDATA', () => mask.body('<password><![CDATA[s3cr3t<s3cr3t]]></password><z>2</z>', false)],
  ['TOML over lines', () => mask.body('password = """\ns3cr3t\ns3cr3t"""\nz = 2', false)],
  ['.netrc', () => mask.body('machine h login u password s3cr3t\nz 2', false)],
  ['a line of ini without a sign', () => mask.body('[a]\npassword s3cr3t\nz 2', false)],
  ['a name that is encoded twice', () => mask.url('/x?api%255Fkey=s3cr3t&z=2')],
  ['a subprotocol', () => mask.header('Sec-WebSocket-Protocol', 'z=2, base64url.bearer.authorization.s3cr3t')],
  ['a user without a scheme', () => mask.header('X-Forwarded-Host', 'me:s3cr3t@host, z=2')],
  ['a user in an address', () => mask.text('https://me:s3cr3t@s3cr3t@host/z=2')],
  ['a user in JSON that was cut', () => mask.body('{"a":"https:\\/\\/me:s3cr3t@host\\/z=2', true)],
  ['a token by its form', () => mask.text('z=2 ghp_s3cr3t0123456789abcdefghij')],
  ['a header in a text', () => mask.text('X-API-Key:s3cr3t-s3cr3t\r\nAuthorization: Digest s3cr3t\r\nZ: 2')],
  ['X-Auth', () => `${mask.header('X-Auth', 's3cr3t')}z2`],
  ['X-Secret-Key', () => `${mask.header('X-Secret-Key', 's3cr3t')}z2`],
  ['a key in a query', () => mask.url('/x?key=s3cr3t0-1&z=2')],
  ['a query', () => mask.url('/x?sig=s3cr3t%2B00&X-Amz-Signature=s3cr3t&code=4/s3cr3t00&z=2')],
  ['an address', () => mask.header('Location', 'https://x/y?code=s3cr3t00&z=2')],
  ['a form', () => mask.body('code=s3cr3t00&z=2', false)],
  ['a member of a form', () => mask.body('user[password]=s3cr3t&z=2', false)],
  ['an event', () => mask.body('id: 1\ndata: {"p\\u0061ssword":\r\ndata: "s3cr3t", "z": 2}\r\n\r\n', false)],
  ['an event with fields between', () => mask.body('data:{"token":["s3cr3t",\nid: 1\ndata:"s3cr3t"],"z":2}', true)],
  ['an event in a sentence', () => mask.text(JSON.stringify('data: {"password":\ndata: "s3cr3t", "z":2}'))],
  ['JSON over lines in a sentence', () => mask.text('before: {"password":\n"s3cr3t", "z": 2}')],
  ['JSON lines', () => mask.body('{"p\\u0061ssword":"s3cr3t"}\n{"z":2}\n', false)],
  ['a pair in capitals', () => mask.body('[{"Name":"password","Value":"s3cr3t"},{"z":2}]', false)],
  ['a path', () => mask.url('/beta/tokens/s3cr3t?z=2')],
  ['a sentence', () => mask.text('z 2: the token: s3cr3t-s3cr3t is unknown')],
  ['a finding', () => JSON.stringify(mask.value({ session_id: 's3cr3t', z: 2 }))],
  ...[
    '"p\\x61ssword": s3cr3t\nz: 2',
    '? password\n: s3cr3t\nz: 2',
    'password: s3cr3t\n  s3cr3t\nz: 2',
    'a: &x s3cr3t\npassword: *x\nz: 2',
    'a: &x s3cr3t\npassword: *x\nb: &x c\nz: 2',
    '- value: s3cr3t\n  name: DB_PASSWORD\n- z: 2',
    'kind: Secret\ndata:\n  a: s3cr3t\nz: 2',
    '{"p\\u0061ssword": "s3cr3t", "z": 2, }',
    '\ufeff{"p\\u0061ssword": "s3cr3t", "z": 2}',
    '<password><value>s3cr3t</value></password><z>2</z>',
    '<a><password>s3cr3t<!-- c --><![CDATA[s3cr3t]]></password><z>2</z></a>',
    '<a><password><![CDATA[s3cr3t]]><![CDATA[s3cr3t]]></password><z>2</z></a>',
    '<a><user\n pwd="s3cr3t"/><z>2</z></a>',
    '<a><entry value="s3cr3t" name="password"/><z>2</z></a>',
    '<a><credentials><user id="s3cr3t" pin="s3cr3t"/></credentials><z>2</z></a>',
    '<p><name>password</name><value>s3cr3t</value><z>2</z></p>',
    'machine h login u account a password s3cr3t\nz 2',
    'default login u password s3cr3t\nz 2',
    'machine h password s3cr3t login u\nz 2',
    'password_confirmation: s3cr3t\njwt: s3cr3t\notp: s3cr3t\nz: 2',
    'x --wifi-password s3cr3t --z 2',
    "ExecStart=/usr/bin/x --password 's3cr3t s3cr3t' --z 2",
    '["x", "--password", "s3cr3t", "--z", "2"]',
    'args:\n- --password\n- s3cr3t\n- z\n- 2',
    'password = <<EOT\ns3cr3t\ns3cr3t\nEOT\nz = 2',
    'password = <<-"EOT"\n  s3cr3t\n  EOT\nz = 2',
    '$password = <<<EOT\ns3cr3t\nEOT;\n$z = 2;',
    'x --password s3\\$s3cr3t --token "s3cr3t\\"s3cr3t" --z 2',
    'CMD ["x","--password","s3cr3t","--z","2"]',
    'x --otp 123456s3cr3t, --z 2',
    '<dict><key>password</key><string>s3cr3t</string><key>a</key><z>2</z></dict>',
  ].flatMap((text): [string, () => string][] => [
    [text, () => mask.body(text, false)],
    [`${text} in JSON`, () => mask.body(inJson(text), false)],
  ]),
])('masks the secrets of %s, and nothing else', (_, shown) => {
  expect(shown()).not.toContain('s3cr3t');
  expect(shown()).toMatch(/\*\*\*/);
  expect(shown()).toMatch(/z\W*2/i);
});

it.each([
  '{"code":"success","round_trip_nanos":5}',
  '{"after":"7","cursor":"cur_0123456789abcdef","digest":"9f86d081884c7d659a2feaa0c55ad015","version":"v1.2.3-4"}',
  '{"sha":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b","commit_url":"https://git.example/a/b/commit/9f86d081884c7d65"}',
  '{"id":"dpl_0123456789abcdef","slot_key":"main","public_key_pem":"-----BEGIN PUBLIC KEY-----"}',
  '{"message":"the token is missing; use Authorization: Bearer <token>, and ask again"}',
  '{"filepath":"/etc/secrets/robot-platform.yaml","auth":true,"token":null,"pass":false}',
  '{"origin":"ssh://git@git.example/a/b","path":"/beta/provisioning_tokens/{id}"}',
  'a: [token, password]\ntokens: null\npassword: $DB_PASSWORD\nauthor: me\n',
  'curl -H "x-api-key: $MUSTER_API_KEY" http://x/beta/devices/dvc_0123456789/activation_token',
  'the body has no "token": it must have one',
  '{"scopes":["provisioning_tokens:write","devices:read"],"a":"Authorization: Bearer <token> is required"}',
  'muster fleet --api-key KEY --token-file token.txt --auth -v --token <token> [--token TOKEN] --token $TOKEN --z 2',
  '["--token", "--z"]',
  '["--no-auth", "serve.js", "--token", "KEY", "--token", "$TOKEN"]',
  'give --token and the password: <<your-password>>, or ask',
  '{"slot_key":"main","device":"dvc_1","development":7}',
  '{"key":"value"}',
  'deployments of developers',
  '--api-key: missing; give it, or set MUSTER_API_KEY',
])('leaves %s unmasked', (text) => {
  expect(mask.body(text, false)).toBe(text);
  expect(mask.body(text, true)).toBe(text);
});

it('masks more than a thousand secrets, and no word', () => {
  const many = new TrafficRedactor();
  for (let index = 0; index < 1500; index += 1) many.addWord(`mk_${100_000 + index}`);
  many.addWord('deployments');
  expect(many.text('mk_101499 mk_100500 deployments')).toBe('*** *** deployments');
  expect(many.text('mk_100000')).toBe('mk_100000');
});
