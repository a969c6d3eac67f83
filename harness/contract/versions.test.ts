import { describe, expect, it } from 'vitest';
import {
  API_VERSIONS,
  atLeast,
  codenameOf,
  codenamesBefore,
  codenamesFrom,
  END_OF_LIFE_VERSIONS,
  isPlatformVersion,
  NEWEST_VERSION,
  PLATFORM_VERSIONS,
  SUPPORTED_CODENAMES,
  SUPPORTED_VERSIONS,
  versionNamed,
  versionsFrom,
} from './versions.ts';

describe('the table of API versions', () => {
  it('holds the versions of section 9, oldest first', () => {
    const released = ['2025-10-21.zion', '2026-03-09.tetons', '2026-05-06.rainier', '2026-08-17.everglades'];
    expect(PLATFORM_VERSIONS.slice(0, released.length)).toEqual(released);
    expect(PLATFORM_VERSIONS.toSorted()).toEqual(PLATFORM_VERSIONS);
    expect(END_OF_LIFE_VERSIONS).toEqual(['2025-10-21.zion']);
  });

  it.each(API_VERSIONS.map(({ id }) => id))('%s has the form <YYYY-MM-DD>.<codename>', (id) => {
    expect(id).toMatch(/^\d{4}-\d{2}-\d{2}\.[a-z]+$/);
  });

  it('yields the newest and the supported versions', () => {
    expect(NEWEST_VERSION).toBe(SUPPORTED_VERSIONS.at(-1));
    expect(SUPPORTED_VERSIONS).toEqual(PLATFORM_VERSIONS.filter((version) => !END_OF_LIFE_VERSIONS.includes(version)));
    expect(SUPPORTED_CODENAMES).toEqual(SUPPORTED_VERSIONS.map((version) => version.split('.')[1]));
  });

  it('leads from a codename to its version and back', () => {
    expect(SUPPORTED_CODENAMES.map(versionNamed).map(codenameOf)).toEqual(SUPPORTED_CODENAMES);
  });

  it('compares by release order', () => {
    const [first, ...others] = SUPPORTED_VERSIONS;
    expect(first).toBe('2026-03-09.tetons');
    expect(first && atLeast(first, 'rainier')).toBe(false);
    expect(others.every((version) => atLeast(version, 'rainier'))).toBe(true);
    expect(versionsFrom('rainier')).toEqual(others);
    expect(codenamesFrom('rainier')).toEqual(others.map(codenameOf));
    expect(codenamesBefore('rainier')).toEqual(['tetons']);
    expect(codenamesFrom('zion')).toEqual(SUPPORTED_CODENAMES);
  });

  it('recognises released versions alone', () => {
    expect(PLATFORM_VERSIONS.every(isPlatformVersion)).toBe(true);
    expect(['tetons', '2026-03-09', '2099-01-01.nowhere', '', undefined].some(isPlatformVersion)).toBe(false);
  });
});
