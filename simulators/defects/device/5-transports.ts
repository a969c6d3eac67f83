import { chmodSync, chownSync } from 'node:fs';
import { answered, defect, onSome, refusals, variant } from '../define-device.ts';

const BEARER_REQUIRED = ['device.loopback.bearer-required'];
const DISCOVERY = ['device.loopback.discovery'];

const NOBODY = 65_534;

export const defects = [
  defect('token-on-socket', 'Requires a token on the unix socket as well.', ['device.socket.no-token'], {
    transport: ({ authorized }) => ({
      authorized: (header, token, transport) => header !== undefined && authorized(header, token, transport),
    }),
  }),
  defect('discovery-token-stale', 'Writes a token into the discovery file that it does not accept itself.', DISCOVERY, {
    transport: { discovery: ({ port, token }) => ({ port, token: [...token].reverse().join('') }) },
  }),
  defect('discovery-port-as-text', 'Writes the port into the discovery file as a string.', DISCOVERY, {
    transport: { discovery: (file) => ({ ...file, port: String(file.port) }) },
  }),
  defect('discovery-token-of-lines', 'Writes the token with its line end into the discovery file.', DISCOVERY, {
    transport: { discovery: ({ port, token }) => ({ port, token: `${token}\n` }) },
  }),
  defect('discovery-without-token', 'Leaves the token out of the discovery file.', DISCOVERY, {
    transport: { discovery: ({ port }) => ({ port }) },
  }),
  defect('discovery-other-names', 'Writes Port and Token into the discovery file.', DISCOVERY, {
    transport: { discovery: ({ port, token }) => ({ Port: port, Token: token }) },
  }),
  defect('loopback-token-optional', 'Checks the token only when one is sent.', BEARER_REQUIRED, {
    transport: ({ authorized }) => ({
      authorized: (header, token, transport) => header === undefined || authorized(header, token, transport),
    }),
  }),
  defect('loopback-token-prefix', 'Compares only as much of the token as was sent.', BEARER_REQUIRED, {
    transport: { authorized: (header, token, via) => via === 'unix' || `Bearer ${token}`.startsWith(header ?? '-') },
  }),
  defect('loopback-any-scheme', 'Accepts the token after any scheme.', BEARER_REQUIRED, {
    transport: {
      authorized: (header, token, via) => via === 'unix' || (token !== undefined && header?.endsWith(token) === true),
    },
  }),
  defect('loopback-token-any-case', 'Compares the token without regard to case.', BEARER_REQUIRED, {
    transport: ({ authorized }) => ({
      authorized: (header, token, transport) => authorized(header?.toLowerCase(), token?.toLowerCase(), transport),
    }),
  }),
  defect('loopback-token-by-length', 'Accepts any token of the correct length.', BEARER_REQUIRED, {
    transport: { authorized: (header, token, via) => via === 'unix' || header?.length === `Bearer ${token}`.length },
  }),
  defect('loopback-token-once', 'Asks for the token on a connection until it has come once.', BEARER_REQUIRED, () => {
    const admitted = new WeakSet<object>();
    let isCarried = true;
    return {
      transport: ({ authorized }) => ({
        authorized: (header, token, transport) => {
          isCarried = authorized(header, token, transport);
          return true;
        },
      }),
      http: onSome(({ socket }, response) => {
        if (!isCarried && !admitted.has(socket)) return answered(response, 401);
        admitted.add(socket);
        return false;
      }),
    };
  }),
  defect('loopback-token-in-query', 'Accepts the token in the query as well.', BEARER_REQUIRED, () => {
    let secret: string | undefined;
    return {
      transport: ({ authorized }) => ({
        authorized: (header, token, transport) => {
          secret = token;
          return header === undefined || authorized(header, token, transport);
        },
      }),
      http: onSome(({ url, headers, socket }, response) => {
        const given = new URLSearchParams(url?.split('?')[1]).get('access_token');
        const lacksHeader = socket.remoteAddress !== undefined && headers.authorization === undefined;
        return lacksHeader && given !== secret && answered(response, 401);
      }),
    };
  }),
  defect('loopback-scheme-case', 'Compares the word Bearer by case.', ['device.loopback.scheme-case'], {
    transport: { authorized: (header, token, via) => via === 'unix' || header === `Bearer ${token}` },
  }),
  defect(
    'socket-given-away',
    'Gives the socket to the user nobody, and lets every user into its directory.',
    ['device.socket.permissions'],
    {
      transport: ({ permit }) => ({
        permit: (path, mode, folder) => {
          permit(path, mode, folder);
          chownSync(path, NOBODY, NOBODY);
          chmodSync(folder, 0o711);
        },
      }),
    },
  ),
  defect(
    'loopback-on-every-address',
    'Binds its loopback port to every address of the machine.',
    ['device.loopback.only'],
    { transport: { host: '0.0.0.0' } },
  ),
];

export const variants = [
  variant(
    'unauthorized-is-403',
    'Answers 403 where the token is missing or wrong (section 7 shows no status for it).',
    { http: refusals(({ status }) => status === 401, { status: 403, headers: {} }) },
  ),
  variant(
    'short-backlog',
    'Lets five connections wait until it takes them, as the standard library of Python does (no number is stated).',
    { transport: { backlog: 5 } },
  ),
];
