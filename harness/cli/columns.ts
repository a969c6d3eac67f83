import process from 'node:process';

const NARROWEST = 40;
const WIDEST = 100;

/** Columns that text for people is wrapped to: those of COLUMNS or of the terminal, from 40 to 100. */
export function columns(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const wanted = /^[1-9]\d*$/.test(env['COLUMNS'] ?? '') ? Number(env['COLUMNS']) : (process.stdout.columns ?? WIDEST);
  return Math.max(NARROWEST, Math.min(WIDEST, wanted));
}
