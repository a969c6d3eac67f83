/** The JSON report: the run's own data, unchanged. */
import type { Format } from './types.ts';

export const jsonReport: Format = (report) => `${JSON.stringify(report, null, 2)}\n`;
