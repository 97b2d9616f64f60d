package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.config.Durability;
import io.fovea.config.TimestampStore;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files created for a database are readable by exactly those users who may read the database. */
class PermissionsTest {
  @TempDir Path folder;

  private static Options options() {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .memory(mem -> mem.timestampBytes(1 << 20))
        .log(log -> log.segmentBytes(1 << 20).bufferBytes(1 << 20))
        .experiments(exp -> exp.timestamps(TimestampStore.DISK));
  }

  private void eachHas(String permissions) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        if (!file.toString().endsWith(".lock")) {
          String found = PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
          assertEquals(permissions, found, file::toString);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw-------", "rw-rw----", "rw-rw-rw-"})
  void filesHaveThePermissionsOfTheDatabase(String permissions) throws IOException {
    Path file = folder.resolve("db");
    Database.open(file, options().durability(Durability.NONE)).close();
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    ByteArrayOutputStream archive = new ByteArrayOutputStream();
    try (Database db = Database.open(file, options())) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      db.run(tx -> t.put(tx, new byte[] {1}, new byte[100]));
      eachHas(permissions); // log, double-write area, timestamps
      db.backup(folder.resolve("backup"));
      db.backup(archive);
    }
    FileDump.backup(file, folder.resolve("dump"), BackupOptions.defaults());
    Restore.from(folder.resolve("backup")).to(folder.resolve("restored"), options());
    Restore.from(new ByteArrayInputStream(archive.toByteArray()))
        .to(folder.resolve("unpacked"), options());
    Database.open(folder.resolve("unpacked"), options()).close();
    eachHas(permissions);
  }
}
