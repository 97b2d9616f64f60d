package io.fovea.ratis;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Authorities and certificates for tests, made by the keytool of this JDK. One thread. */
final class Certificates {
  private static final String PASSWORD = "not-a-secret";
  private static final int LINE = 64;

  private final Path folder;
  private final Path store;

  Certificates(Path folder) throws IOException {
    this.folder = Files.createDirectories(folder);
    this.store = folder.resolve("all.p12");
  }

  /** Makes an authority, and the file of its certificate. */
  void authority(String name) throws Exception {
    keytool(name, "-ext", "bc:c");
    write(certificate(name), "CERTIFICATE", keys().getCertificate(name).getEncoded());
  }

  /** Makes a certificate of an authority for an address, and the files of it and its key. */
  void issue(String name, String authority, String address, String... more) throws Exception {
    List<String> args = new ArrayList<>(List.of("-signer", authority));
    args.addAll(List.of("-ext", "san=ip:" + address));
    args.addAll(Arrays.asList(more));
    keytool(name, args.toArray(String[]::new));
    write(certificate(name), "CERTIFICATE", keys().getCertificate(name).getEncoded());
    write(key(name), "PRIVATE KEY", keys().getKey(name, PASSWORD.toCharArray()).getEncoded());
  }

  Path certificate(String name) {
    return folder.resolve(name + ".pem");
  }

  Path key(String name) {
    return folder.resolve(name + ".key");
  }

  private static void write(Path file, String what, byte[] bytes) throws IOException {
    Files.writeString(
        file,
        "-----BEGIN "
            + what
            + "-----\n"
            + Base64.getMimeEncoder(LINE, new byte[] {'\n'}).encodeToString(bytes)
            + "\n-----END "
            + what
            + "-----\n");
  }

  private KeyStore keys() throws IOException, GeneralSecurityException {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return keys;
  }

  private void keytool(String name, String... more) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-XX:TieredStopAtLevel=1",
                "-genkeypair",
                "-alias",
                name,
                "-dname",
                "CN=" + name,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD));
    command.addAll(Arrays.asList(more));
    Path log = folder.resolve("keytool.log");
    Process p =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    if (!p.waitFor(1, TimeUnit.MINUTES) || p.exitValue() != 0) {
      p.destroyForcibly();
      throw new AssertionError("keytool failed: " + Files.readString(log));
    }
  }
}
