/** Section 9, 2026-05-06.rainier: provisioning tokens. */
import type { HttpResponse } from '../../harness/client/http.ts';
import { isIso8601 } from '../../harness/contract/shape.ts';
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { Fact } from '../../harness/runner/session.ts';
import { type Platform, section } from './support/check.ts';
import { createDevice, requireEndpoint } from './support/create.ts';
import { describeResponse, inVersion, ok, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const token = requirement({
  id: 'platform.provisioning-token',
  level: 'MUST',
  clause: 'Provisioning tokens replace the activation-token endpoint',
  text:
    'From 2026-05-06.rainier on, the platform issues provisioning tokens, each with its expiry; ' +
    '2026-03-09.tetons has none.',
});
for (const codename of codenamesFrom('rainier'))
  check(token, { needs: ['write', codename], aspect: codename }, async (t: Platform) => {
    const versioned = inVersion(t, codename);
    const isFirst = t.session.get(ISSUED_TOKENS).size === 0;
    await mustIssueToken(versioned);
    if (isFirst) await mustIssueToken(versioned);
  });

check(token, { needs: ['write', 'rainier', 'tetons'], aspect: 'tetons' }, async (t: Platform) => {
  if (t.session.get(ISSUED_TOKENS).size === 0) await mustIssueToken(inVersion(t, 'rainier'));
  const response = await postTo(inVersion(t, 'tetons'), PATH);
  // Only warns, because no section states how older versions answer this endpoint.
  t.should(!ok(response), {
    expected: `POST ${PATH} not to be there in 2026-03-09.tetons`,
    actual: `${response.status}`,
  });
});

check(token, { needs: ['write', 'rainier'], aspect: 'replaced' }, async (t: Platform) => {
  const device = await createDevice(t);
  // Uses the path of published platforms, because the specification names none.
  const path = `/devices/${encodeURIComponent(device.id)}/activation_token`;
  const answer = await postTo(inVersion(t, 'rainier'), path);
  t.should(!ok(answer), {
    expected: `POST ${path} not to be there in 2026-05-06.rainier, since provisioning tokens replace it`,
    actual: `${answer.status}`,
  });
});

const PATH = '/provisioning_tokens';

/** Tokens that the platform has issued in this run; few, because a platform may limit their number. */
const ISSUED_TOKENS = new Fact(() => new Set<string>());

async function postTo(t: Platform, path: string): Promise<HttpResponse> {
  const response = await send(t, { method: 'POST', path, body: {} });
  const { token: issued } = (response.json ?? {}) as { token?: unknown };
  if (typeof issued === 'string') t.http.recorder.redactor.add(issued);
  return response;
}

/** Expects a new token; a refusal only blocks the check, because a platform may require a body or limit tokens. */
async function mustIssueToken(t: Platform): Promise<void> {
  const response = await postTo(t, PATH);
  await requireEndpoint(t, PATH, response);
  if (refused(response) || response.status === 503) {
    t.blocked(`set-up: POST ${PATH} answered ${describeResponse(response)}`);
  }
  t.must(ok(response), { expected: `2xx with a token to POST ${PATH}`, actual: describeResponse(response) });
  const { token, expires_at: expiry } = (response.json ?? {}) as { token?: unknown; expires_at?: unknown };
  t.must(typeof token === 'string' && token !== '', { expected: 'a token that is not empty', actual: typeof token });
  shouldExpireInFuture(t, response, expiry);
  const issued = t.session.get(ISSUED_TOKENS);
  t.must(!issued.has(token), { expected: 'a new token each time', actual: 'the same token twice' });
  issued.add(token);
}

/** Only warns, because the name of the field comes from published platforms. */
function shouldExpireInFuture(t: Platform, response: HttpResponse, expiry: unknown): void {
  t.should(typeof expiry === 'string' && isIso8601(expiry), {
    expected: 'an ISO 8601 date-time in expires_at',
    actual: expiry,
  });
  // Prefers the platform's clock (the header Date) to the clock of this machine.
  const now = Date.parse(response.headers['date'] ?? '') || Date.now();
  t.should(!(Date.parse(String(expiry)) <= now), { expected: 'an expiry in the future', actual: expiry });
}
