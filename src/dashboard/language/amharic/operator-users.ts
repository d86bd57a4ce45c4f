import type { operatorUsers as english } from '../english/operator-users.ts';

export const operatorUsers: typeof english = {
  title: 'ተጠቃሚዎች',
  lead: 'ይህን መግቢያ የሚያስተዳድሩ። ኦፕሬተሮች ሁሉንም ነጋዴዎች ያያሉ፤ የማንም አባል አይደሉም። የነጋዴው ሰዎች በቡድኑ ገጽ ይገኛሉ።',
  invite: {
    title: 'ኦፕሬተር ይጋብዙ',
    already: 'ይህ አድራሻ ያለው ሰው ቀድሞውኑ ኦፕሬተር ነው ወይም የነጋዴ አባል ነው፤ ኦፕሬተሮች የማንም አባል አይደሉም።',
  },
  help: {
    title: 'ሰው ይርዱ',
    lead: 'የትኛውም ነጋዴ ዘንድ መለያ ላለው ሁሉ። ከመርዳትዎ በፊት የሚጠይቀው ማን እንደሆነ ያረጋግጡ።',
    email: 'የኢሜይል አድራሻ',
    reset: 'የአዲስ የይለፍ ቃል ሊንክ ይዘጋጅ',
    disable: 'እንዳይገባ ይከልክሉ',
    enable: 'እንደገና እንዲገባ ይፍቀዱ',
    nobody: 'በዚህ አድራሻ መግባት የሚችል መለያ ያለው ሰው የለም።',
    disabled: (email) => `${email} እንዳይገባ ተከልክሏል፤ የከፈታቸው ሁሉ ተዘግተዋል።`,
    enabled: (email) => `${email} እንደገና መግባት ይችላል።`,
  },
  reset: {
    title: 'የአዲስ የይለፍ ቃል ሊንክ',
    lead: (email, until) =>
      `ይህን ሊንክ ለ${email} ብቻ ይስጡ። አንድ ጊዜ ብቻ፣ እስከ ${until} ይሠራል፤ ዳግም አይታይም። የአንድ ጊዜ ኮድ እንዳለ ይቆያል።`,
    done: 'አስተላልፌዋለሁ',
  },
  lastOperator: {
    title: 'ይህ መግባት የሚችል የመጨረሻው ኦፕሬተር ነው',
    body: 'መጀመሪያ ሌላ ኦፕሬተር ይጋብዙ።',
  },
  tooMany: { title: 'ብዙ ሊንኮች ተጠይቀዋል', body: 'አንድ ሰዓት ይጠብቁ፤ ወይም በትዕዛዝ መስመር user reset ይጠቀሙ።' },
};
