package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.io.BlockDevice;
import io.fovea.io.DeviceConfig;
import io.fovea.io.FileStorage;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.store.Companions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Databases whose name equals that of another database's temporary file. */
class TemporaryNamesTest {
  @TempDir Path folder;

  private Path file() {
    return folder.resolve("shop");
  }

  private static void make(Path file, boolean logged) {
    Options options = Options.defaults().bufferBytes(4 << 20);
    try (Database db =
        Database.open(file, logged ? options : options.durability(Durability.NONE))) {
      db.run(tx -> db.table(TableSpec.bytes("t", 8)).bytes().put(tx, new byte[1], new byte[9]));
    }
  }

  private void refused(Path other) throws IOException {
    byte[] before = Files.readAllBytes(other);
    var e = assertThrows(IncompatibleFormatException.class, () -> make(file(), true));
    assertTrue(e.getMessage().contains(other.getFileName().toString()), e.getMessage());
    assertTrue(e.getMessage().contains("Move "), e.getMessage());
    assertArrayEquals(before, Files.readAllBytes(other));
  }

  @ParameterizedTest
  @ValueSource(strings = {".ts", ".snap", ".load0", ".load7", ".lock"})
  void areNotDeletedAndNotOverwritten(String suffix) throws IOException {
    Path other = folder.resolve("shop" + suffix);
    make(other, false);
    refused(other);
    assertFalse(Files.exists(file()), "nothing was created");
    Files.move(other, folder.resolve("other"));
    make(file(), true);
    Files.copy(file(), other); // a copy with the id of the original
    refused(other);
    Files.delete(other);
    make(file(), true);
  }

  @Test
  void areNotOverwrittenLater() throws IOException {
    make(file(), true);
    Path other = folder.resolve("shop" + Storage.SNAPSHOTS);
    Files.copy(file(), other);
    byte[] before = Files.readAllBytes(other);
    FileStorage storage = new FileStorage(file(), DeviceConfig.defaults());
    assertThrows(
        IncompatibleFormatException.class,
        () -> Companions.openTemporary(storage, Storage.SNAPSHOTS));
    assertArrayEquals(before, Files.readAllBytes(other));
    try (BlockDevice free = Companions.openTemporary(storage, Storage.LOAD + 1)) {
      assertEquals(0, free.size());
    }
  }

  @Test
  void leftoversOfACrashAreDeleted() throws IOException {
    make(file(), true);
    for (String suffix : new String[] {".ts", ".snap", ".load3"}) {
      Files.write(folder.resolve("shop" + suffix), new byte[8192]);
    }
    make(file(), true);
    for (String suffix : new String[] {".ts", ".snap", ".load3"}) {
      assertFalse(Files.exists(folder.resolve("shop" + suffix)), suffix);
    }
  }
}
