/** Finds out what a platform has: accepted versions, items to page through, devices that answer and that do not. */
import type { HttpClient } from '../client/http.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../contract/versions.ts';

/** What reading a platform shows. */
export interface Detected {
  versions: SupportedVersion[];
  /** The platform holds enough items to page through. */
  seedData: boolean;
  onlineDevice: string | undefined;
  offlineDevice: string | undefined;
}

/** For a platform that does not answer. */
export const NOTHING_DETECTED: Detected = {
  versions: [],
  seedData: false,
  onlineDevice: undefined,
  offlineDevice: undefined,
};

/** With fewer items than this every page is the last one. */
const ENOUGH = 3;

/** Only reads. Errors are not reported here: what cannot be detected is not declared, and the checks find out why. */
export async function probePlatform(http: HttpClient, versionHeader: string): Promise<Detected> {
  const accepted = await Promise.all(
    SUPPORTED_VERSIONS.map(async (version) => {
      const { status } = await list(http, { headers: { [versionHeader]: version }, limit: 1 });
      return status === 200 ? [version] : [];
    }),
  );
  const { items } = await list(http, { limit: 100 });
  const withStatus = (status: string): string | undefined =>
    items.find((item) => item.status === status && typeof item.id === 'string')?.id as string | undefined;
  return {
    versions: accepted.flat(),
    seedData: items.length >= ENOUGH,
    onlineDevice: withStatus('online'),
    offlineDevice: withStatus('offline'),
  };
}

async function list(
  http: HttpClient,
  options: { headers?: Record<string, string>; limit: number },
): Promise<{ status: number | undefined; items: { id?: unknown; status?: unknown }[] }> {
  try {
    const { headers = {}, limit } = options;
    const { status, json } = await http.get('/devices', { headers, query: { limit } });
    const data = (json as { data?: unknown } | undefined)?.data;
    return {
      status,
      items: Array.isArray(data) ? data.filter((item) => item !== null && typeof item === 'object') : [],
    };
  } catch {
    return { status: undefined, items: [] };
  }
}
