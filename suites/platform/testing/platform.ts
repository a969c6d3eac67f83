import { createServer, type RequestListener } from 'node:http';
import { clientOf } from '../../../harness/client/testing/served.ts';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import type { Platform } from '../support/requests.ts';

export const tools = (signal = new AbortController().signal) => ({
  session: new Session(),
  signal,
  note: () => {},
  blocked: (reason: string) => {
    throw new Blocked(reason);
  },
  must: (holds: unknown, finding: ConstructorParameters<typeof Violation>[0]) => {
    if (!holds) throw new Violation(finding);
  },
});

export async function platformThat(answer: RequestListener, { signal } = new AbortController()) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  const t = { ...tools(signal), http: await clientOf(server, { signal }), patienceMs: 5000 };
  return { t: t as unknown as Platform, asked };
}
