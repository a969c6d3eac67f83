/** The files of the agent under test, which may lie on this machine or in a container. */
import { Blocked } from '../../runner/violation.ts';

/** What lies at a path, after symbolic links. */
export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'other';
  /** Bytes; of no meaning for a folder. */
  readonly size: number;
}

/** One entry of a folder. A symbolic link shows what it leads to, and is not walked through. */
export interface FileEntry extends FileInfo {
  readonly path: string;
}

/**
 * Paths are those that the agent knows, absolute. Every method throws FilesUnreadable when this user may not read there, or when a
 * container does not answer.
 */
export interface TargetFiles {
  /** Undefined when nothing is there. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Undefined when there is no file at that path. */
  read(path: string): Promise<Buffer | undefined>;
  /** What a folder holds, and with `deep` also what its folders hold. Empty when there is no such folder. */
  list(folder: string, options?: { deep?: boolean }): Promise<FileEntry[]>;
  /** Adds bytes to the end of a file. Throws FilesUnreadable when there is none. */
  append(path: string, bytes: Buffer): Promise<void>;
}

/** The files cannot be reached, which decides nothing about the agent. */
export class FilesUnreadable extends Blocked {
  override name = 'FilesUnreadable';
}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

/** Whether an error of a file system says that nothing is at the path. */
export const isAbsent = (error: unknown): boolean => ABSENT.has(codeOf(error));

/** Whether an error of a file system says that this user may not go there. */
export const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error));

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
