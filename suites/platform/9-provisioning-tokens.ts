/** Section 9, 2026-05-06.rainier: provisioning tokens. */

import type { Endpoint, HttpResponse } from '../../harness/client/http.ts';
import { isIso8601 } from '../../harness/contract/shape.ts';
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { mustBeThere } from './support/create.ts';
import { check, type Platform } from './support/platform.ts';
import { inVersion, ok, refused, said, send } from './support/send.ts';

const TOKEN = requirement({
  id: 'platform.provisioning-token',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-05-06.rainier on the platform issues provisioning tokens, each with its expiry; 2026-03-09.tetons has none.',
});
const PATH = '/provisioning_tokens';

/** Tokens that were issued in this run, by its connections: how many a platform issues is not shown, so none is asked for twice. */
const known = new WeakMap<Endpoint, string[]>();
const UNAVAILABLE = 503;

async function post(t: Platform): Promise<HttpResponse> {
  const response = await send(t, { method: 'POST', path: PATH, body: {} });
  const { token } = (response.json ?? {}) as { token?: unknown };
  if (typeof token === 'string') t.http.recorder.redactor.add(token);
  return response;
}

/** What a token is asked for with is not shown, nor how many there may be: a refusal says nothing. */
async function issue(t: Platform): Promise<unknown> {
  const response = await post(t);
  await mustBeThere(t, PATH, response);
  if (refused(response) || response.status === UNAVAILABLE) {
    t.blocked(`set-up: POST ${PATH} answered ${said(response)}`);
  }
  t.must(ok(response), { expected: `2xx with a token to POST ${PATH}`, actual: said(response) });
  const { token, expires_at: expires } = (response.json ?? {}) as { token?: unknown; expires_at?: unknown };
  t.must(typeof token === 'string' && token !== '', { expected: 'a token that is not empty', actual: typeof token });
  // The payload is not shown, so that what published platforms call their expiry may be missing.
  t.should(typeof expires === 'string' && isIso8601(expires), {
    expected: 'an ISO 8601 date-time in expires_at',
    actual: expires,
  });
  // By the platform's own clock where it tells it.
  const now = Date.parse(response.headers['date'] ?? '') || Date.now();
  t.should(!(Date.parse(String(expires)) <= now), { expected: 'an expiry in the future', actual: expires });
  const tokens = known.get(t.http.endpoint) ?? [];
  known.set(t.http.endpoint, tokens);
  t.must(!tokens.includes(token), { expected: 'a token of its own each time', actual: 'the same token twice' });
  tokens.push(token);
  return token;
}

const issued = codenamesFrom('rainier').map((codename) =>
  check(
    TOKEN,
    { needs: ['write', codename], writes: true, sharing: 'exclusive', aspect: codename },
    async (run: Platform) => {
      const t: Platform = inVersion(run, codename);
      const others = known.get(t.http.endpoint) ?? [];
      await issue(t);
      if (others.length === 0) await issue(t);
    },
  ),
);

const before = check(
  TOKEN,
  { needs: ['write', 'rainier', 'tetons'], writes: true, sharing: 'exclusive', aspect: 'tetons' },
  async (run: Platform) => {
    if (!known.has(run.http.endpoint)) await issue(inVersion(run, 'rainier'));
    const response = await post(inVersion(run, 'tetons'));
    // That rainier brought them is stated, and what older versions answer is not.
    run.should(!ok(response), {
      expected: `POST ${PATH} not to be there in 2026-03-09.tetons`,
      actual: `${response.status}`,
    });
  },
);

export const provisioningTokenChecks = [...issued, before];
