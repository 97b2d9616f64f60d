package bank;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Table;
import java.util.Optional;
import org.springframework.stereotype.Service;

@Service
class Accounts {
  static final ObjectSpec<Long, Account> ACCOUNTS =
      ObjectSpec.of("accounts", Long.class, Account.class);

  private final Database db;
  private final Table<Long, Account> accounts;

  Accounts(Database db) {
    this.db = db;
    this.accounts = db.table(ACCOUNTS); // opens it, or creates it
  }

  void open(long number, String owner, long cents) {
    db.run(tx -> accounts.insert(tx, new Account(number, owner, cents)));
  }

  Optional<Account> find(long number) {
    return db.read(tx -> accounts.find(tx, number));
  }

  void transfer(long from, long to, long cents) {
    db.run(
        tx -> { // runs again after a conflict
          accounts.update(tx, from, a -> a.plus(-cents));
          accounts.update(tx, to, a -> a.plus(cents));
        });
  }
}
