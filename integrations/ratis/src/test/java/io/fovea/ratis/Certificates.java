package io.fovea.ratis;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Creates authorities and certificates for tests with this JDK's keytool, all of them in {@link
 * #make}. Not thread-safe.
 */
final class Certificates {
  private static final String PASSWORD = "not-a-secret";
  private static final int LINE = 64;

  /** Separates the arguments of a command; occurs in no path of the tests. */
  private static final String SEPARATOR = "\t";

  private final Path folder;
  private final Path store;
  private final List<List<String>> commands = new ArrayList<>();
  private final List<String> issued = new ArrayList<>();

  Certificates(Path folder) throws IOException {
    this.folder = Files.createDirectories(folder);
    this.store = folder.resolve("all.p12");
  }

  /** Adds an authority, and a file with its certificate. */
  void authority(String name) {
    keytool(name, "-ext", "bc:c");
  }

  /**
   * Adds a certificate for an address, signed by the authority, and files with the certificate and
   * its key.
   */
  void issue(String name, String authority, String address, String... more) {
    List<String> args = new ArrayList<>(List.of("-signer", authority));
    args.addAll(List.of("-ext", "san=ip:" + address));
    args.addAll(Arrays.asList(more));
    keytool(name, args.toArray(String[]::new));
    issued.add(name);
  }

  /** Creates everything that was added. */
  void make() throws Exception {
    run();
    KeyStore keys = keys();
    for (String name : Collections.list(keys.aliases())) {
      write(certificate(name), "CERTIFICATE", keys.getCertificate(name).getEncoded());
    }
    for (String name : issued) {
      write(key(name), "PRIVATE KEY", keys.getKey(name, PASSWORD.toCharArray()).getEncoded());
    }
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

  private void keytool(String name, String... more) {
    List<String> words = new ArrayList<>();
    words.addAll(List.of("-genkeypair", "-alias", name, "-dname", "CN=" + name));
    words.addAll(List.of("-keyalg", "EC", "-groupname", "secp256r1", "-storetype", "PKCS12"));
    words.addAll(List.of("-keystore", store.toString(), "-storepass", PASSWORD));
    words.addAll(Arrays.asList(more));
    commands.add(words);
  }

  /** Runs all commands in one process: eight starts of keytool would take ten seconds. */
  private void run() throws Exception {
    Path list = folder.resolve("keytool.txt");
    Files.write(list, commands.stream().map(words -> String.join(SEPARATOR, words)).toList());
    Path log = folder.resolve("keytool.log");
    Process p =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--add-exports=java.base/sun.security.tools.keytool=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Keytool.class.getName(),
                list.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      if (!p.waitFor(5, TimeUnit.MINUTES) || p.exitValue() != 0) {
        throw new AssertionError("keytool failed: " + Files.readString(log));
      }
    } finally {
      p.destroyForcibly();
    }
  }

  /** The process: each line of the file has the arguments of one keytool call. */
  static final class Keytool {
    private Keytool() {}

    public static void main(String[] args) throws Exception {
      Method keytool =
          Class.forName("sun.security.tools.keytool.Main").getMethod("main", String[].class);
      for (String line : Files.readAllLines(Path.of(args[0]))) {
        keytool.invoke(null, (Object) line.split(SEPARATOR));
      }
    }
  }
}
