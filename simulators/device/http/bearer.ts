/** The bearer token of the loopback transport (specification section 5). */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether an `Authorization` header carries this token. The scheme is compared without regard to case, as HTTP has it. */
export function carriesToken(header: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  return given !== undefined && sameSecret(given, token);
}

/** Compares without telling by its duration how much agrees. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
