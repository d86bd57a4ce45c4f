import type { wallets as english } from '../english/wallets.ts';

export const wallets: typeof english = {
  title: 'ዋሌቶች',
  lead: 'ደንበኞችዎ በሥራ ላይ ባሉት ዋሌቶች መክፈል ይችላሉ። ለውጥ በ5 ሰከንድ ውስጥ ለአዲስ ክፍያዎች ይሠራል።',
  none: { title: 'የተዘጋጀ ዋሌት የለም', body: 'የዚህ ጌትዌይ ኦፕሬተር ለዚህ አካባቢ ምንም ዋሌት አላዘጋጀም።' },
  allOff: {
    title: 'በዚህ አካባቢ ማንም ሊከፍልዎ አይችልም',
    body: 'በሥራ ላይ ያለ ዋሌት የለም። አንድ ዋሌት እስኪያበሩ ድረስ አዲስ ትዕዛዞች ተቀባይነት አያገኙም።',
  },
  columns: { wallet: 'ዋሌት', takes: 'የሚቀበለው', state: 'ሁኔታ', account: 'ገንዘብ ተቀባይ ሒሳብ', actions: 'ተግባራት' },
  states: { on: 'በሥራ ላይ', off: 'የጠፋ', notGranted: 'ለእርስዎ አልተፈቀደም' },
  notGrantedHint: 'እንዲፈቅድልዎ የጌትዌዩን ኦፕሬተር ይጠይቁ።',
  range: {
    between: (least, greatest, currency) => `ከ${least} እስከ ${greatest} ${currency}`,
    from: (least, currency) => `ከ${least} ${currency} ጀምሮ`,
    upTo: (greatest, currency) => `እስከ ${greatest} ${currency}`,
  },
  accounts: { operators: 'የኦፕሬተሩ ሒሳብ', own: 'የራስዎ ሒሳብ', open: 'ሒሳቦች' },
  switchOn: { submit: 'ያብሩ', done: (name) => `${name} በርቷል።` },
  switchOff: {
    open: 'ያጥፉ',
    body: 'በዚህ ዋሌት አዲስ ክፍያዎች ተቀባይነት አያገኙም። የተጀመሩ ክፍያዎች ይቀጥላሉ።',
    submit: 'ያጥፉ',
    done: (name) => `${name} ጠፍቷል።`,
  },
  back: 'ሁሉም ዋሌቶች',
  own: {
    title: (name) => `በ${name} ያሉዎት ሒሳቦች`,
    lead: 'የራስዎ ሒሳብ ካለዎት የደንበኞችዎ ገንዘብ በቀጥታ ወደ እርስዎ ይገባል። ከሌለዎት የኦፕሬተሩ ሒሳብ ይቀበለዋል።',
    unavailable: 'ይህ ዋሌት የነጋዴዎችን ሒሳብ አይቀበልም።',
    empty: 'እዚህ የራስዎ ሒሳብ የለዎትም። ክፍያዎችዎን የኦፕሬተሩ ሒሳብ ይቀበላል።',
    columns: { account: 'ሒሳብ', state: 'ሁኔታ', check: 'ማረጋገጫ', added: 'የተጨመረው', actions: 'ተግባራት' },
    states: { next: 'ገና አልተጠቀሙበትም', current: 'በሥራ ላይ', retired: 'የቀድሞ' },
    checks: {
      waiting: 'በመጣራት ላይ',
      accepted: 'ተቀባይነት አግኝቷል',
      refused: 'ተቀባይነት አላገኘም',
      unknown: 'ዋሌቱ መልስ አልሰጠም',
    },
    hidden: '(ምስጢር)',
    ending: (ending) => `…${ending}`,
    check: { submit: 'እንደገና ያጣሩ', done: 'ማረጋገጫው በመጣራት ላይ ነው። ከጥቂት ጊዜ በኋላ ገጹን ያድሱ።' },
    promote: {
      open: 'ለአዲስ ክፍያዎች ይጠቀሙበት',
      body: 'ከአሁን ጀምሮ አዲስ ክፍያዎች ወደዚህ ሒሳብ ይገባሉ። የተጀመሩ ክፍያዎች በጀመሩበት ሒሳብ ይቀጥላሉ።',
      submit: 'ይህን ሒሳብ ይጠቀሙ',
      done: 'አዲስ ክፍያዎች ወደዚህ ሒሳብ ይገባሉ።',
      notChecked: 'ዋሌቱ የዚህን ሒሳብ ማረጋገጫ አልተቀበለም። እንደገና ያጣሩ፤ ወይም በሌላ መረጃ ይጨምሩት።',
    },
    retire: {
      open: 'መጠቀም ያቁሙ',
      body: 'ከአሁን ጀምሮ አዲስ ክፍያዎች ወደ ኦፕሬተሩ ሒሳብ ይገባሉ። የተጀመሩ ክፍያዎች በዚህ ሒሳብ ይቀጥላሉ።',
      submit: 'ይህን ሒሳብ መጠቀም ያቁሙ',
      done: 'አዲስ ክፍያዎች ወደ ኦፕሬተሩ ሒሳብ ይገባሉ።',
    },
    remove: {
      open: 'ያስወግዱ',
      body: 'ሒሳቡና ምስጢሮቹ ይሰረዛሉ። ሊመለስ አይችልም። የዚህ ሒሳብ ክፍያዎችን በኋላ እዚህ መመለስ አይቻልም።',
      submit: 'ለዘለቄታው ያስወግዱ',
      done: 'ሒሳቡ ተወግዷል።',
      inUse: (payments, reversals) =>
        payments + reversals === 0
          ? 'አዲስ ክፍያዎች ይህን ሒሳብ ይጠቀማሉ። መጀመሪያ መጠቀም ያቁሙ።'
          : `${payments} ያልተጠናቀቁ ክፍያዎችና ${reversals} ተመላሾች ይህን ሒሳብ ይፈልጋሉ። በኋላ እንደገና ይሞክሩ።`,
    },
    add: {
      title: 'ሒሳብ ይጨምሩ',
      body: 'የራስዎ የሆነውን ብቻ ያስገቡ። ባዶ ለተዉት ሁሉ የኦፕሬተሩ ቅንብር ይሠራል። ሒሳቡን ከመጠቀምዎ በፊት ማረጋገጫው ከዋሌቱ ጋር ይጣራል።',
      secretHint: 'ምስጢር። ተመስጥሮ ይቀመጣል፤ ዳግም አይታይም።',
      asOperator: 'እንደ ኦፕሬተሩ',
      submit: 'ሒሳብ ይጨመር',
      done: 'ሒሳቡ ተጨምሯል፤ ማረጋገጫው በመጣራት ላይ ነው። ከጥቂት ጊዜ በኋላ ገጹን ያድሱ።',
      again: 'ሁሉንም እንደገና ያስገቡ። ማንነትዎን ሲያረጋግጡ ምስጢሮች አይቀመጡም።',
      tooMany: 'በዚህ ዋሌት 10 ሒሳቦች አሉዎት፤ ከዚህ በላይ አይቻልም። መጀመሪያ አንድ የቀድሞ ሒሳብ ያስወግዱ።',
    },
  },
};
