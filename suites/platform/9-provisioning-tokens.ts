/** Section 9, 2026-05-06.rainier: provisioning tokens. */
import { requirement } from '../../harness/check/define.ts';
import type { HttpResponse } from '../../harness/client/http.ts';
import { isIso8601 } from '../../harness/contract/shape.ts';
import { mustBeThere } from './support/create.ts';
import { check, type Platform } from './support/platform.ts';
import { inVersion, ok, said, send } from './support/send.ts';

const TOKEN = requirement(
  'platform.provisioning-token',
  'MUST',
  '9',
  'From 2026-05-06.rainier on the platform issues provisioning tokens, each with its expiry; 2026-03-09.tetons has none.',
);
const PATH = '/provisioning_tokens';

async function post(t: Platform): Promise<HttpResponse> {
  const response = await send(t, { method: 'POST', path: PATH, body: {} });
  const token = (response.json as { token?: unknown } | undefined)?.token;
  if (typeof token === 'string') t.http.recorder.redactor.add(token);
  return response;
}

const issued = (['rainier', 'everglades'] as const).map((codename) =>
  check(
    TOKEN,
    { needs: ['write', codename], writes: true, sharing: 'exclusive', aspect: codename },
    async (run: Platform) => {
      const t: Platform = inVersion(run, codename);
      const answers = [await post(t), await post(t)];
      for (const answer of answers) await mustBeThere(t, PATH, answer);
      if (answers.every(({ status }) => status === 403)) t.blocked(`set-up: POST ${PATH} answered 403`);
      const tokens = answers.map((response) => {
        t.must(ok(response), { expected: `2xx with a token to POST ${PATH}`, actual: said(response) });
        const { token, expires_at: expires } = (response.json ?? {}) as { token?: unknown; expires_at?: unknown };
        t.must(typeof token === 'string' && token !== '', {
          expected: 'a token that is not empty',
          actual: typeof token,
        });
        // The payload is not shown, so that what published platforms call their expiry may be missing.
        t.should(typeof expires === 'string' && isIso8601(expires), {
          expected: 'an ISO 8601 date-time in expires_at',
          actual: expires,
        });
        // By the platform's own clock where it tells it.
        const now = Date.parse(response.headers['date'] ?? '') || Date.now();
        t.should(!(Date.parse(String(expires)) <= now), { expected: 'an expiry in the future', actual: expires });
        return token;
      });
      t.must(new Set(tokens).size === tokens.length, {
        expected: 'a token of its own each time',
        actual: 'the same token twice',
      });
    },
  ),
);

const before = check(
  TOKEN,
  { needs: ['write', 'rainier', 'tetons'], writes: true, sharing: 'exclusive', aspect: 'tetons' },
  async (run: Platform) => {
    const served = await post(inVersion(run, 'rainier'));
    await mustBeThere(run, PATH, served);
    if (!ok(served)) run.blocked(`set-up: POST ${PATH} answered ${served.status} in 2026-05-06.rainier`);
    const response = await post(inVersion(run, 'tetons'));
    // That rainier brought them is stated, and what older versions answer is not.
    run.should(!ok(response), {
      expected: `POST ${PATH} not to be there in 2026-03-09.tetons`,
      actual: `${response.status}`,
    });
  },
);

export const provisioningTokenChecks = [...issued, before];
