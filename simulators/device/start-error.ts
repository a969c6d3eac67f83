/** Why a device does not start: something that an option names cannot be used. */
import { KilledError } from './device-directory.ts';
import { DirectoryInUseError } from './lock.ts';
import { errorCode } from './log/io.ts';

/** Name of the option: `dir`, `control`, or the one with the address of a transport (`socket`, `discovery`). */
export type PlaceOption = string;

/** What `option` names cannot be used; the message says why. */
export class StartError extends Error {
  override name = 'StartError';
  readonly option: PlaceOption;

  constructor(option: PlaceOption, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** Passes on the result of `use`. Rejects with a StartError that names `option`, or with the KilledError of `use`. */
export async function asStartError<T>(option: PlaceOption, use: Promise<T>): Promise<T> {
  try {
    return await use;
  } catch (error) {
    throw error instanceof KilledError ? error : startErrorOf(option, error);
  }
}

/** The option that an error is about, undefined when it is about none. */
export function optionOf(error: unknown): PlaceOption | undefined {
  if (error instanceof DirectoryInUseError) return 'dir';
  return error instanceof StartError ? error.option : undefined;
}

/** The StartError for an error of the system; errors that explain themselves are given back as they are. */
export function startErrorOf(option: PlaceOption, error: unknown): Error {
  if (error instanceof DirectoryInUseError || error instanceof StartError || error instanceof TypeError) return error;
  const {
    path,
    dest,
    address,
    port = -1,
  } = error as Record<'path' | 'dest' | 'address', string | undefined> & { port?: number };
  // A unix socket has the port -1.
  const place = port < 0 ? (dest ?? path ?? address ?? 'it') : `port ${port}`;
  const code = errorCode(error) ?? '';
  const words: Record<string, string> = {
    EADDRINUSE: `${place} is in use; name another`,
    EEXIST: `${place} is a file, and must be a directory`,
    ENOTDIR: `${place} is no directory, or lies below a file`,
    EISDIR: `${place} is a directory`,
    EACCES: `no permission for ${place}`,
    EPERM: `no permission for ${place}`,
    EROFS: `${place} lies on a file system that is read-only`,
    ENOSPC: `the disk has no room for ${place}`,
  };
  const message = error instanceof Error ? error.message : String(error);
  const explained = words[code];
  return new StartError(option, explained === undefined ? message : `${explained} (${code})`, { cause: error });
}
