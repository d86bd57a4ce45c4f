import { PaymentOption } from '../../gen/gatehouse/v1/order_pb.js';
import type { Messages } from './messages.ts';

const noInternetHint = 'ፒን ይጠይቃል (USSD)፤ በማንኛውም ስልክ ይሠራል';

export const amharic: Messages = {
  languageName: 'አማርኛ',
  switchLabel: 'ቋንቋ',
  poweredBy: 'ደህንነቱ የተጠበቀ ክፍያ በ Gatehouse',
  testPayment: 'የሙከራ ክፍያ፦ ትክክለኛ ገንዘብ አይንቀሳቀስም',
  byMerchant: (merchant) => `የ${merchant} ድርጅት`,
  labels: {
    amount: 'የገንዘብ መጠን',
    payee: 'ተከፋይ',
    reason: 'የክፍያው ምክንያት',
    reference: 'የትዕዛዝ ቁጥር',
    timeLeft: 'ለመክፈል የቀረዎት ጊዜ',
    wallet: 'የተከፈለበት መንገድ',
    phone: 'የስልክ ቁጥር',
    paidAt: 'ቀንና ሰዓት',
    walletReference: 'የዋሌቱ ማጣቀሻ ቁጥር',
  },
  pay: {
    title: (amount, shop) => `ለ${shop} ${amount} ይክፈሉ`,
    chooseWallet: 'በምን መክፈል ይፈልጋሉ?',
    phoneHint: 'የዋሌትዎ ቁጥር፤ ለምሳሌ 0911\u00a022\u00a033\u00a044',
    submit: (amount) => `${amount} ይክፈሉ`,
    submitting: 'አንድ አፍታ…',
    attemptsLeft: (count) => (count === 1 ? 'ይህ የመጨረሻ ሙከራዎ ነው።' : `ሌላ ${count} ጊዜ መሞከር ይችላሉ።`),
    phoneMissing: 'ዋሌትዎ የተመዘገበበትን የስልክ ቁጥር ያስገቡ።',
    phoneInvalid: 'ይህ ትክክለኛ የስልክ ቁጥር አይመስልም። ለምሳሌ 0911\u00a022\u00a033\u00a044 ብለው ያስገቡ።',
    optionMissing: 'መክፈል የሚፈልጉበትን መንገድ ይምረጡ።',
    optionUnavailable: 'ይህ የመክፈያ መንገድ ለጊዜው አይሠራም። እባክዎ ሌላ ይምረጡ።',
  },
  cancel: {
    open: 'ክፍያውን ይሰርዙ',
    body: 'ትዕዛዙ አይከፈልም፤ ይህ ሊንክም ከዚህ በኋላ አያገለግልም።',
    confirm: 'አዎ፣ ክፍያው ይሰረዝ',
  },
  otherDevice: {
    open: 'በሌላ መሣሪያ ይቀጥሉ',
    body: 'ሊከፍሉበት በሚፈልጉት ስልክ ወይም ታብሌት ካሜራ ይህን ኮድ ያንሱ (ስካን ያድርጉ)።',
    alt: 'የዚህ ገጽ አድራሻ ያለበት QR ኮድ',
  },
  options: {
    [PaymentOption.WALLETA_WALLET]: {
      name: 'የ Wallet A መተግበሪያ',
      hint: 'በ Wallet A መተግበሪያ ያጽድቁ',
    },
    [PaymentOption.WALLETA_USSD]: { name: 'Wallet A ያለ ኢንተርኔት', hint: noInternetHint },
    [PaymentOption.WALLETB_USSD]: { name: 'Wallet B ያለ ኢንተርኔት', hint: noInternetHint },
  },
  wallets: {
    [PaymentOption.WALLETA_WALLET]: 'Wallet A',
    [PaymentOption.WALLETA_USSD]: 'Wallet A',
    [PaymentOption.WALLETB_USSD]: 'Wallet B',
  },
  confirm: {
    title: 'ስልክዎ ላይ ያረጋግጡ',
    sentTo: (phone) => `የክፍያ ጥያቄ ወደ ${phone} እየላክን ነው። ብዙውን ጊዜ በጥቂት ሰከንዶች ውስጥ ይደርሳል።`,
    how: {
      [PaymentOption.WALLETA_WALLET]: (amount) =>
        `በዚያ ስልክ ላይ የ Wallet A መተግበሪያን ከፍተው የ ${amount} ክፍያውን ያጽድቁ።`,
      [PaymentOption.WALLETA_USSD]: (amount) => `${amount} ለመክፈል በዚያ ስልክ ላይ የ Wallet A ሚስጥር ቁጥርዎን (ፒን) ያስገቡ።`,
      [PaymentOption.WALLETB_USSD]: (amount) => `${amount} ለመክፈል በዚያ ስልክ ላይ የ Wallet B ሚስጥር ቁጥርዎን (ፒን) ያስገቡ።`,
    },
    next: 'ለማረጋገጥ 3 ደቂቃ ያህል አለዎት። ከዚያ ይህ ገጽ ውጤቱን ያሳያል።',
    wayOut: {
      open: 'ቁጥሩ ተሳስቷል ወይስ ሐሳብዎን ቀይረዋል?',
      unsent: 'ጥያቄው ወደ ዋሌትዎ እስኪላክ ድረስ መሰረዝ ይችላሉ፤ ብዙውን ጊዜ በጥቂት ሰከንዶች ውስጥ ይላካል።',
      sent: (phone) =>
        `የተላከ ጥያቄ እዚህ ሊሰረዝ አይችልም። በ ${phone} ላይ ውድቅ ያድርጉት፤ ወይም ይጠብቁ፦ ካልተረጋገጠ ከ3 ደቂቃ ያህል በኋላ ያበቃል፤ ` +
        'ምንም ገንዘብም አይከፈልም። ከዚያ በዚህ ገጽ ላይ ሌላ ቁጥር ወይም ሌላ ዋሌት መጠቀም ይችላሉ።',
      slow: (wallet) =>
        `${wallet} ገንዘቡን ገና ሊወስድ ስለሚችል አሁን መሰረዝ አይቻልም። ምንም ካልተከፈለ በዚህ ገጽ ላይ እንደገና መሞከር ይችላሉ፤ በሌላ ቁጥርም ጭምር።`,
    },
    following: 'ይህ ገጽ በራሱ ይታደሳል። እባክዎ ገጹን አይዝጉት።',
    slow: (wallet) =>
      `ከተለመደው የበለጠ ጊዜ እየወሰደ ነው። ክፍያዎ ምን ላይ እንደደረሰ ${wallet}ን እየጠየቅን ነው። ` + 'እባክዎ እስከዚያ በሌላ መንገድ አይክፈሉ።',
    offline: 'ለጊዜው ግንኙነት የለም። ክፍያዎ ምንም አይሆንም፤ ይህ ገጽ መሞከሩን ይቀጥላል።',
    stopLooking: 'ገጹ በራሱ መታደሱን ያቁሙ',
  },
  paid: {
    title: 'ክፍያው ተፈጽሟል',
    body: (amount, shop) => `ለ${shop} ${amount} ከፍለዋል።`,
  },
  failed: {
    title: 'ክፍያው አልተሳካም',
    body: 'ከሙከራዎቹ አንዱም አልተሳካም፤ ምንም ገንዘብ አልተከፈለም። እንደገና ለመሞከር ከሱቁ ይጀምሩ።',
  },
  cancelled: {
    title: 'ክፍያው ተሰርዟል',
    body: 'ይህ ክፍያ ተሰርዟል። ምንም ገንዘብ አልተከፈለም።',
  },
  expired: {
    title: 'የመክፈያው ጊዜ አልፏል',
    body: 'ምንም ገንዘብ አልተከፈለም። ለመክፈል ከፈለጉ ከሱቁ እንደገና ይጀምሩ።',
  },
  inUse: {
    title: 'ክፍያው በሌላ ብራውዘር ተከፍቷል',
    body:
      'ይህ ክፍያ የተጀመረው በሌላ ብራውዘር ወይም በሌላ መሣሪያ ነው። እባክዎ እዚያው ይቀጥሉ። ' +
      'የጀመሩት እዚሁ ከሆነ ይህ ብራውዘር ኩኪ (cookie) እየከለከለ ሊሆን ይችላል፤ እንዲቀበል ያድርጉና እንደገና ይመልከቱ።',
  },
  unknownLink: {
    title: 'ይህን ሊንክ አናውቀውም',
    body: 'ሊንኩ ያልተሟላ ወይም ያረጀ ሊሆን ይችላል። ወደ ሱቁ ተመልሰው ክፍያውን ከዚያ ይጀምሩ።',
  },
  unavailable: {
    title: 'የክፍያ ሥርዓታችንን ለጊዜው ማግኘት አልቻልንም',
    body:
      'እባክዎ ከጥቂት ጊዜ በኋላ እንደገና ይሞክሩ። “ይክፈሉ” የሚለውን አሁን ተጭነው ከሆነ ክፍያዎ ተጀምሮ ሊሆን ይችላል፤ ' +
      'ሌላ ነገር ከማድረግዎ በፊት እንደገና ይመልከቱ።',
  },
  tooManyPayments: {
    title: 'ከዚህ ብዙ ክፍያዎች ተጀምረዋል',
    body: 'አሁን ምንም ክፍያ አልተጀመረም። አሥር ደቂቃ ይጠብቁ፤ ከዚያ ክፍያውን ከፍተው እንደገና ይሞክሩ ወይም በሌላ የበይነመረብ ግንኙነት ይጠቀሙ።',
  },
  tooManyRequests: {
    title: 'ብዙ የማይታወቁ ሊንኮች ተከፍተዋል',
    body: 'እባክዎ አንድ ደቂቃ ይጠብቁ፤ ከዚያ ወደ ሱቁ ተመልሰው ክፍያውን ከዚያ ይጀምሩ።',
  },
  foreignForm: {
    title: 'ይህ የመጣው ከእኛ ገጽ አይደለም',
    body: 'ለደህንነትዎ ሲባል ክፍያ የምንቀበለው ከዚህ ገጽ ብቻ ስለሆነ ምንም አላደረግንም። ክፍያውን ከፍተው እንደገና ይሞክሩ።',
  },
  badRequest: {
    title: 'የላኩትን ማንበብ አልቻልንም',
    body: 'ምንም አላደረግንም። ክፍያውን ከፍተው እንደገና ይሞክሩ።',
  },
  checkAgain: 'እንደገና ይመልከቱ',
  print: 'ደረሰኙን ያትሙ',
  contact: (shop) => `ጥያቄ ካለዎት ${shop}ን ያግኙ፦`,
  toPayment: 'ክፍያውን ይክፈቱ',
  backTo: (shop) => `ወደ ${shop} ይመለሱ`,
  returning: { before: 'ወደ ሱቁ በራስ-ሰር ለመመለስ የቀረው፦', after: 'ሰከንድ።' },
  stay: 'እዚህ ገጽ ላይ ይቆዩ',
  closePage: 'ይህን ገጽ መዝጋት ይችላሉ።',
  refused: {
    title: 'አልተሳካም፤ ምንም ገንዘብ አልተከፈለም',
    why: {
      insufficient_funds: 'ዋሌትዎ ውስጥ በቂ ገንዘብ የለም። ገንዘብ ጨምረው ወይም ሌላ ዋሌት መርጠው እንደገና ይሞክሩ።',
      wrong_pin: 'የገባው የሚስጥር ቁጥር (ፒን) ትክክል አልነበረም። እባክዎ እንደገና ይሞክሩ።',
      declined_by_payer: 'ክፍያው ስልክዎ ላይ ውድቅ ተደርጓል። በስህተት ከሆነ እንደገና መሞከር ይችላሉ።',
      payer_not_found: 'ይህ ቁጥር በመረጡት ዋሌት አልተመዘገበም። ቁጥሩን ያረጋግጡ ወይም ሌላ ዋሌት ይምረጡ።',
      limit_exceeded: 'ይህ ክፍያ ዋሌትዎ ከሚፈቅደው ገደብ ይበልጣል። ሌላ ዋሌት ይጠቀሙ ወይም የዋሌትዎን አቅራቢ ይጠይቁ።',
      account_state: 'ይህ የዋሌት ሂሳብ አሁን መክፈል አይችልም። ሌላ ዋሌት ይጠቀሙ ወይም የዋሌትዎን አቅራቢ ይጠይቁ።',
      payer_busy: 'ስልክዎ በሌላ ጥያቄ ተይዞ ነበር። ያንን ጨርሰው እንደገና ይሞክሩ።',
      wrong_amount: 'ዋሌትዎ ትዕዛዙ ከሚጠይቀው የተለየ መጠን ወስዶ ነበር። ያ ገንዘብ ወደ ዋሌትዎ ተመልሷል፤ እንደገና መክፈል ይችላሉ።',
      timed_out: 'ስልኩ ላይ በጊዜው አልተረጋገጠም። ስልክዎን አጠገብዎ አድርገው እንደገና ይሞክሩ።',
      other: 'ዋሌቱ ክፍያውን አልተቀበለም። እንደገና ይሞክሩ ወይም ሌላ ዋሌት ይምረጡ።',
    },
  },
  phoneBusy: {
    title: 'በዚህ ስልክ ላይ ገና ያልተረጋገጠ ሌላ ክፍያ አለ',
    body: (wait) =>
      `መጀመሪያ ያንን ክፍያ ያረጋግጡ ወይም ውድቅ ያድርጉ፤ ከዚያ እንደገና ይሞክሩ። ካልታየዎት ከ${wait} በኋላ እንደገና ይሞክሩ ወይም ሌላ ቁጥር ይጠቀሙ።`,
  },
  phoneLimit: {
    title: 'ይህ ስልክ ብዙ ጊዜ ተጠይቋል',
    body: (wait) => `በአጭር ጊዜ ውስጥ ብዙ የሚረጋገጡ ክፍያዎች ተልከውለታል። ከ${wait} በኋላ እንደገና ይሞክሩ ወይም ሌላ ቁጥር ይጠቀሙ።`,
  },
  merchantClosed: {
    title: 'ይህ ሱቅ አሁን ክፍያ መቀበል አይችልም',
    body: 'ክፍያው አልተጀመረም። እባክዎ ሱቁን ይጠይቁ።',
  },
  paymentInProgress: {
    title: 'በመካሄድ ላይ ያለ ክፍያ አለ',
    body: 'ሁለተኛ ክፍያ አልተጀመረም። በመካሄድ ላይ ያለውን ለማየት እንደገና ይመልከቱ።',
  },
  tooLateToCancel: {
    title: 'እዚህ ለመሰረዝ ጊዜው አልፏል',
    body: 'ጥያቄው ወደ ዋሌትዎ ተልኳል። መክፈል ካልፈለጉ ስልክዎ ላይ ውድቅ ያድርጉት።',
  },
  notPayable: {
    order_is_final: {
      title: 'ይህ ትዕዛዝ ከእንግዲህ ሊከፈል አይችልም',
      body: 'አሁን ምንም ገንዘብ አልተከፈለም። ትዕዛዙ ምን ላይ እንደደረሰ ለማየት እንደገና ይመልከቱ።',
    },
    session_ended: {
      title: 'የመክፈያው ጊዜ አልፏል',
      body: 'ምንም ገንዘብ አልተከፈለም። ለመክፈል ከፈለጉ ከሱቁ እንደገና ይጀምሩ።',
    },
    too_many_attempts: {
      title: 'ለዚህ ትዕዛዝ የቀረ ሙከራ የለም',
      body: 'ምንም ገንዘብ አልተከፈለም። እንደገና ለመሞከር ከሱቁ ይጀምሩ።',
    },
    option_not_allowed: {
      title: 'ይህ ትዕዛዝ በዚህ ዋሌት ሊከፈል አይችልም',
      body: 'ምንም ገንዘብ አልተከፈለም። ሌላ ዋሌት መርጠው እንደገና ይሞክሩ።',
    },
    other: {
      title: 'ይህ ትዕዛዝ አሁን ሊከፈል አይችልም',
      body: 'ክፍያው አልተጀመረም። እንደገና ከመሞከርዎ በፊት እባክዎ ሱቁን ይጠይቁ።',
    },
  },
  notReturned: {
    title: 'ዋሌትዎ ይህን ትዕዛዝ የማይከፍል ገንዘብ ወስዷል',
    returning: (taken) =>
      `ዋሌትዎ ${taken} ወስዷል፤ ይህ ትዕዛዙ የጠየቀው ክፍያ አይደለም። ገንዘቡ ወደ እርስዎ እየተመለሰ ነው። ` +
      'እባክዎ እስከዚያ በሌላ መንገድ አይክፈሉ፤ ገንዘቡ ሲመለስ እዚሁ መክፈል ይችላሉ።',
    refused: (taken, shop) =>
      `ዋሌትዎ ${taken} ወስዷል፤ ይህ ትዕዛዙ የጠየቀው ክፍያ አይደለም፤ ገንዘቡም አልተመለሰም። ` +
      `እባክዎ እንደገና አይክፈሉ። ${shop}ን ያነጋግሩና ከታች ያለውን የትዕዛዝ ቁጥር ይስጡ።`,
    ended: {
      returning: (taken) => `ይህ ትዕዛዝ አልተከፈለም። ዋሌትዎ የወሰደው ${taken} ወደ እርስዎ እየተመለሰ ነው።`,
      refused: (taken, shop) =>
        `ይህ ትዕዛዝ አልተከፈለም። ዋሌትዎ ${taken} ወስዷል፤ ገንዘቡም አልተመለሰም። ${shop}ን ያነጋግሩና ከታች ያለውን የትዕዛዝ ቁጥር ይስጡ።`,
    },
  },
  correctForm: 'እባክዎ ከታች ምልክት የተደረገበትን ያስተካክሉ',
};
