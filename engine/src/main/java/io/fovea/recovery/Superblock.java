package io.fovea.recovery;

import io.fovea.buffer.AllocatorState;
import java.util.UUID;

/**
 * What a database file says about itself.
 *
 * @param pageSize the size of its pages, in bytes
 * @param id tells one database from another
 * @param sequence counts the writes of a superblock; the higher one of the two is the newer
 * @param clean whether the file was closed after the last change and is complete
 * @param nextTreeId the first id that no tree ever had
 * @param catalogRootPid the root of the catalog tree
 * @param allocator which pages are in use
 * @param createdMillis when it was created, in milliseconds since 1970
 */
public record Superblock(
    int pageSize,
    UUID id,
    long sequence,
    boolean clean,
    int nextTreeId,
    long catalogRootPid,
    AllocatorState allocator,
    long createdMillis) {
  /** The id of the catalog tree. */
  public static final int CATALOG_TREE_ID = 1;

  /** The page of the catalog tree's root. */
  public static final long CATALOG_ROOT_PID = 2;

  /** The version of the file format that this engine writes. */
  public static final int FORMAT_VERSION = 1;

  /** What a new file begins with. */
  public static Superblock ofNew(int pageSize) {
    return new Superblock(
        pageSize,
        UUID.randomUUID(),
        0,
        false,
        CATALOG_TREE_ID + 1,
        CATALOG_ROOT_PID,
        AllocatorState.EMPTY,
        System.currentTimeMillis());
  }

  /** The same, with what changed. */
  public Superblock with(boolean nowClean, int treeId, AllocatorState state) {
    return new Superblock(
        pageSize, id, sequence, nowClean, treeId, catalogRootPid, state, createdMillis);
  }

  Superblock withSequence(long newer) {
    return new Superblock(
        pageSize, id, newer, clean, nextTreeId, catalogRootPid, allocator, createdMillis);
  }
}
